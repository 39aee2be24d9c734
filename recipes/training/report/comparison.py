"""Several runs side by side."""

import os
import pathlib
import urllib.parse

from keras_duspar.utils import checks
from training.report import charts
from training.report import figures
from training.report import page
from training.report import run as runs
from training.report.markup import section
from training.report.markup import table
from training.report.markup import tag


def compare(folders, path):
    """Writes a page that compares runs: bars and a table a task.

    Args:
        folders: List of the runs' folders, at least one.
        path: The HTML file to write.

    Returns:
        The `pathlib.Path` of the page.
    """
    if not isinstance(folders, (list, tuple)) or not folders:
        raise checks.bad_value("folders", "a list of run folders", folders)
    found = [runs.read(folder) for folder in folders]
    tasks = dict.fromkeys(run.task for run in found)
    base = pathlib.Path(path).resolve().parent
    parts = [tag("header", tag("h1", "Runs compared"))]
    for task in tasks:
        parts += _task(task, [run for run in found if run.task == task], base)
    return page.save(path, "Runs compared", parts)


def _task(task, found, base):
    notes = []
    if any(run.synthetic for run in found):
        notes.append(
            "Synthetic speech: results on speech made by a synthesiser say "
            "nothing certain about real speech."
        )
    if len({run.data for run in found}) > 1:
        notes.append(
            "These runs used different data: their test results are not "
            "comparable."
        )
    for run in found:
        if run.problems:
            notes.append(f"{run.model}: {'; '.join(run.problems)}.")
    yield section(
        figures.TASKS.get(task, "Runs of an unknown task"),
        [tag("p", note, class_="notice") for note in notes],
        tag("div", list(_bars(found)), class_="charts"),
        _table(found, base),
    )


def _bars(found):
    """Charts of the test results and of the products."""
    names = [name for name, _, _ in found[0].metrics()]
    for position, name in enumerate(names):
        values = [list(run.metrics())[position][1] for run in found]
        # An accuracy or STOI has an end of its scale, the others have none.
        full = 1 if name in ("accuracy", "stoi") else _largest(values)
        yield _chart(
            f"Test {figures.METRICS[name]}",
            found,
            values,
            full,
            lambda v, name=name: figures.metric(name, v),
        )
    for title, name, form in (
        ("Effective products", "effective_macs", figures.rate),
        ("Occupancy", "occupancy", figures.percent),
        ("Parameters", "parameters", figures.count),
    ):
        values = [run.figure(name) for run in found]
        full = 1 if name == "occupancy" else _largest(values)
        yield _chart(title, found, values, full, form)


def _largest(values):
    numbers = [value for value in values if figures.is_number(value)]
    return max([*numbers, 0]) or 1


def _chart(title, found, values, full, form):
    rows = [
        (
            run.model,
            value / full if figures.is_number(value) else None,
            form(value),
            i % charts.COLOURS,
        )
        for i, (run, value) in enumerate(zip(found, values))
    ]
    return tag("figure", tag("figcaption", title), charts.bars(rows))


def _table(found, base):
    columns = ["model", "data", "seed", "epochs"]
    metrics = [name for name, _, _ in found[0].metrics()]
    columns += [f"test {figures.METRICS[name]}" for name in metrics]
    columns += ["parameters", "dense, M MAC/s", "effective, M MAC/s"]
    columns += ["occupancy", "time"]
    rows = []
    for run in found:
        name = run.model
        report = run.folder / "report.html"
        if report.exists():
            name = tag("a", name, href=_relative(report, base))
        rows.append(
            [
                name,
                run.data or figures.NONE,
                run.config.get("seed", figures.NONE),
                len(run.epochs),
                *(figures.metric(n, value) for n, value, _ in run.metrics()),
                figures.count(run.figure("parameters")),
                figures.millions(run.figure("dense_macs")),
                figures.millions(run.figure("effective_macs")),
                figures.percent(run.figure("occupancy")),
                figures.duration(run.result.get("seconds")),
            ]
        )
    return table(columns, rows, left=2)


def _relative(path, base):
    """The address of a file from the folder of the page."""
    path = pathlib.Path(os.path.relpath(path.resolve(), base))
    return urllib.parse.quote(path.as_posix())
