"""Several runs side by side, `compare.html`."""

from keras_duspar.utils import checks
from pages import formats
from pages import plots
from pages import rendering
from pages import run_files
from pages import training_curves
from pages.run_page import bar
from tasks import METRICS
from tasks import TASKS

# What a run costs.
COSTS = (
    "effective_macs",
    "occupancy",
    "parameters",
    "ms_per_frame",
    "file_bytes",
)


def compare(folders, path):
    """Writes a page that compares runs: charts and a table per task.

    Time and size are those of `speed.json`, which `compare.py --measure` and
    a sweep write into the folder of a run.

    Args:
        folders: List of the runs' folders, at least one.
        path: The HTML file to write.

    Returns:
        The `pathlib.Path` of the page.
    """
    if not isinstance(folders, (list, tuple)) or not folders:
        raise checks.bad_value("folders", "a list of run folders", folders)
    runs = [run_files.read(folder) for folder in folders]
    sections = [
        section([run for run in runs if run.task == task], path)
        for task in dict.fromkeys(run.task for run in runs)
    ]
    return rendering.save(
        path, "comparison.html", title="Runs compared", sections=sections
    )


def section(runs, path):
    """What the page shows of the runs of one task."""
    return {
        "title": runs[0].title or "Runs of an unknown task",
        "runs": runs,
        "bars": list(bars(runs)),
        "scatter": list(against_cost(runs)),
        "curves": training_curves.comparison(runs),
        "table": rows(runs, path),
    }


def bars(runs):
    """Yields charts of the test results and of the cost: title and bars."""
    tests = [list(run.metrics()) for run in runs]
    for position, (name, _, _) in enumerate(tests[0]):
        values = [test[position][1] for test in tests]
        yield f"Test {METRICS[name].title}", _bars(runs, name, values)
    for name in COSTS:
        values = [run.figure(name) for run in runs]
        if any(map(formats.is_number, values)):
            yield METRICS[name].heading, _bars(runs, name, values)


def _bars(runs, name, values):
    numbers = [value for value in values if formats.is_number(value)]
    full = METRICS[name].best or max([*numbers, 0]) or 1
    return [
        bar(
            run.model,
            value / full if formats.is_number(value) else None,
            formats.metric(name, value),
            i,
        )
        for i, (run, value) in enumerate(zip(runs, values))
    ]


def against_cost(runs):
    """Yields charts of the main metric against each kind of cost."""
    if runs[0].task not in TASKS:
        return
    name = TASKS[runs[0].task].metrics[0]
    metric = METRICS[name]
    score = f"Test {metric.axis}"
    for cost, factor, axis in (
        ("effective_macs", 1e-6, "effective M MAC/s"),
        ("ms_per_frame", 1.0, "measured time in ms per frame"),
        ("file_bytes", 1e-3, "size of model.tflite in KB"),
    ):
        places = []
        for i, run in enumerate(runs):
            pair = run.figure(cost), next(run.metrics())[1]
            if all(map(formats.is_number, pair)):
                pair = factor * pair[0], metric.factor * pair[1]
            places.append((run.model, *pair, i))
        chart = plots.scatter_chart(
            f"{score} against {axis}",
            places,
            axis,
            lambda x, y, axis=axis: (
                f"{score}: {y:.{metric.digits}f}\n{axis}: {x:.4g}"
            ),
        )
        if chart is not None:
            yield chart


def rows(runs, path):
    """The table of the runs: headings, rows, and addresses of their pages."""
    metrics = [METRICS[name].title for name, _, _ in runs[0].metrics()]
    columns = ["model", "data", "seed", "epochs"]
    columns += [f"test {title}" for title in metrics]
    columns += ["parameters", "dense, M MAC/s", "effective, M MAC/s"]
    columns += ["occupancy", "per frame", "size", "training"]
    found = [
        [
            run.model,
            run.data or formats.NONE,
            run.config.get("seed", formats.NONE),
            len(run.epochs),
            *(formats.metric(n, value) for n, value, _ in run.metrics()),
            formats.count(run.figure("parameters")),
            formats.millions(run.figure("dense_macs")),
            formats.millions(run.figure("effective_macs")),
            formats.percent(run.figure("occupancy")),
            formats.metric("ms_per_frame", run.figure("ms_per_frame")),
            formats.metric("file_bytes", run.figure("file_bytes")),
            formats.duration(run.result.get("seconds")),
        ]
        for run in runs
    ]
    links = [rendering.link(run.folder / "report.html", path) for run in runs]
    return {"columns": columns, "rows": found, "links": links}
