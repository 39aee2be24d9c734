"""The paper's figure and table from the results of sweeps.

    python recipes/report.py sweeps/kws-paper
    python recipes/report.py sweeps/kws-paper sweeps/slu-paper --out figure

Task performance against effective MACs and against measured time, one curve
per model, as PNG, SVG and a page that shows the numbers under the pointer and
needs no network.
"""

import argparse
import pathlib
import sys

import prepare  # noqa: F401 - before Keras is imported

# isort: split
from pages import tradeoff_page
from tradeoff import panels
from tradeoff import points
from tradeoff.task_curves import TaskCurves
from trainer.errors import TrainingError

STEM = "tradeoff"


def main(arguments=None):
    """Runs the program; returns its exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "results",
        nargs="+",
        help="folders of sweeps, or their results.csv or results.parquet, one "
        "per task",
    )
    parser.add_argument(
        "--out", help="folder to write to (default: that of the first sweep)"
    )
    parser.add_argument(
        "--parameters",
        type=int,
        help="where models are marked as equal in size (default: the paper's)",
    )
    options = parser.parse_args(arguments)
    try:
        tasks = [read(path, options.parameters) for path in options.results]
        if len({task.name for task in tasks}) < len(tasks):
            raise TrainingError(
                "`results` must be of different tasks. Received: "
                + ", ".join(task.name for task in tasks)
                + "."
            )
        out = pathlib.Path(options.out or tasks[0].folder)
        out.mkdir(parents=True, exist_ok=True)
        files = panels.draw(tasks, out / STEM)
        files.append(tradeoff_page.write(tasks, out / f"{STEM}.html"))
    except (TrainingError, OSError, ImportError) as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 1
    for task in tasks:
        print(f"\n{task.name}: {task.data}\n")
        print(markdown(*tradeoff_page.paper_rows(task)))
        columns, rows = tradeoff_page.pair_rows(task)
        if rows:
            print(markdown(columns, rows))
    print("\n".join(str(file) for file in files))
    return 0


def read(path, parameters):
    """The `TaskCurves` of a sweep."""
    rows = points.read(path)
    path = pathlib.Path(path)
    return TaskCurves(rows, parameters, path if path.is_dir() else path.parent)


def markdown(columns, rows):
    """A table as Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
