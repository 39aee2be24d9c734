"""Compares runs: a table, means over seeds, and a page with charts.

    python recipes/compare.py runs/kws-*
    python recipes/compare.py runs/kws-* --html compare.html --measure

Runs that differ in nothing but their seed share a row.
"""

import argparse
import json
import pathlib
import statistics
import sys

import prepare  # noqa: F401 - before Keras is imported

# isort: split
from datasets.base import DataError
from pages import comparison_page
from sweeping import speed
from tasks import METRICS
from tasks import TASKS
from trainer import config as configs
from trainer.errors import TrainingError
from trainer.run_folder import RunFolder

# Column to the keys of a result.json, a factor, and digits after the point.
COST = {
    "occupancy %": (("occupancy",), 100, 1),
    "effective M MAC/s": (("effective_macs",), 1e-6, 3),
}


def main(arguments=None):
    """Runs the program; returns its exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", nargs="+", help="folders of finished runs")
    parser.add_argument("--html", help="file of a page to write, too")
    parser.add_argument(
        "--measure",
        action="store_true",
        help="convert models that have not been timed, and time them on their "
        "test data, for the page; wants a machine with nothing else to do",
    )
    options = parser.parse_args(arguments)
    try:
        results = [read(folder) for folder in options.runs]
        if options.measure:
            measure(options.runs)
    except (TrainingError, DataError, ImportError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 1
    for task in dict.fromkeys(result["task"] for result in results):
        print(table([r for r in results if r["task"] == task]))
    if options.html:
        print(comparison_page.compare(options.runs, options.html))
    return 0


def read(folder):
    """The dictionary of a run's `result.json`."""
    path = pathlib.Path(folder) / "result.json"
    if not path.is_file():
        raise TrainingError(
            "`runs` must be folders of finished runs. Received: "
            f"{folder}, which has no result.json."
        )
    return json.loads(path.read_text(encoding="utf-8"))


def measure(folders, seconds=1.5):
    """Times the models of runs that have not been, those of a task in turns.

    Args:
        folders: List of run folders.
        seconds: Float, how long each model runs. Default: 1.5.
    """
    groups = {}
    for folder in map(RunFolder, folders):
        if not (folder / speed.FILE).is_file():
            speed.deploy(folder)
            task = folder.read_json("config.json")["task"]
            groups.setdefault(task, []).append(folder.path)
    for task, paths in groups.items():
        recipe = TASKS[task].recipe_class()
        config = configs.make(recipe.config_class, {}, paths[0] / "config.json")
        speed.measure(paths, speed.recordings(recipe(config)), seconds)


def table(results):
    """A Markdown table of the results of one task."""
    task = TASKS[results[0]["task"]]
    scores = {
        f"{METRICS[name].title} {METRICS[name].unit}".strip(): (
            task.path(name),
            METRICS[name].factor,
            METRICS[name].digits,
        )
        for name in task.metrics
    }
    columns = {**scores, **COST}
    groups = {}
    for result in results:
        key = tuple(result[k] for k in ("model", "units", "data", "epochs"))
        groups.setdefault((*key, scheme(result)), []).append(result)
    # A column of its own only where there is something to tell.
    quantized = any(map(scheme, results))
    first = ["layer", "units", *["quantized"] * quantized]
    rows = [(*first, "parameters", "runs", *columns)]
    rows.append(("---",) * len(rows[0]))
    if task.noisy:
        noisy = [
            _text(results[:1], task.path(name, "noisy"), scale, digits)
            for name, (_, scale, digits) in zip(task.metrics, scores.values())
        ]
        empty = ["-"] * (len(first) + 1)
        rows.append(("noisy input", *empty, *noisy, *["-"] * 2))
    for (model, units, *_, kind), group in groups.items():
        first = [model, str(units), *[kind or "-"] * quantized]
        first += [f"{group[0]['parameters']:,}", str(len(group))]
        figures = [_text(group, *column) for column in columns.values()]
        rows.append((*first, *figures))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def scheme(result):
    """The scheme that a run was quantized by, or `None`."""
    # The last row is that of the model which was trained by it.
    rows = result.get("quantization")
    return rows[-1]["name"].partition(",")[0] if rows else None


def _text(results, path, scale, digits):
    """Mean of a figure over runs, with its deviation if there are several."""
    values = []
    for result in results:
        for key in path:
            result = result[key]
        values.append(result * scale)
    text = f"{statistics.mean(values):.{digits}f}"
    if len(values) > 1:
        text += f" ± {statistics.stdev(values):.{digits}f}"
    return text


if __name__ == "__main__":
    sys.exit(main())
