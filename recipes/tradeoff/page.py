"""The page of a sweep, in one file, and its tables."""

import os
import pathlib
import urllib.parse

from tradeoff import chart
from tradeoff.points import COSTS
from tradeoff.points import Axis
from tradeoff.points import plus_minus
from training import paper
from training.report import figures
from training.report import page
from training.report.markup import details
from training.report.markup import section
from training.report.markup import table
from training.report.markup import tag

MEASURED = (
    Axis("dense_macs", "dense, M MAC/s", 1e-6),
    Axis("effective_macs", "effective, M MAC/s", 1e-6),
    Axis("occupancy", "occupancy, %", 100, 1),
)


def write(tasks, path):
    """Writes the page.

    Args:
        tasks: List of `tasks.Task`, each with the `folder` of its sweep.
        path: `pathlib.Path` of the HTML file.

    Returns:
        The path.
    """
    title = "Performance and cost"
    parts = [tag("header", tag("h1", title), list(_notices(tasks)))]
    for task in tasks:
        parts.append(_charts(task))
        parts.append(_against_paper(task))
        parts.append(_pairs(task))
        parts.append(_points(task))
        parts.append(_trials(task, pathlib.Path(path).resolve().parent))
    return page.save(path, title, parts)


def _notices(tasks):
    for task in tasks:
        name = figures.TASKS[task.name]
        yield tag(
            "p",
            f"{name}: {task.data}; {len(task.rows)} trainings, "
            f"{task.seeds_text}.",
            class_="facts",
        )
        if task.synthetic:
            yield tag(
                "p",
                f"{name}: the speech was made by a synthesiser. Results on it "
                "say nothing certain about real speech.",
                class_="notice",
            )


def _charts(task):
    drawn = [
        chart.tradeoff(task, cost, score)
        for score in task.scores
        for cost in COSTS
    ]
    stars = (
        f"Stars are the points within 5 % of {task.parameters:,} parameters."
        if task.stars
        else f"No point is within 5 % of {task.parameters:,} parameters: "
        "there are no stars."
    )
    pair = (
        "Diamonds are DuSpaR and SpaR at the best performance that both "
        "reach, read off their curves; the ratio of their costs stands below. "
        f"{_uncertainty(task)}"
        if task.paired
        else ""
    )
    return section(
        figures.TASKS[task.name],
        tag(
            "p",
            "A curve is a model at its widths, a point the mean over seeds; "
            f"{task.seeds_text}, {task.bars_text}. {stars} {pair} The names "
            "switch curves on and off.",
        ),
        chart.switches(task),
        tag("div", drawn, class_="charts wide"),
    )


def _uncertainty(task):
    """What stands in brackets behind a ratio."""
    if task.seeds[1] == 1:
        return "With one seed a point its uncertainty is not known."
    return (
        "In brackets: the 16th and the 84th percentile if every mean is off "
        "by its standard error, from deviations pooled over all points."
    )


def paper_rows(task):
    """The paper's table with ours beside it.

    Args:
        task: A `tasks.Task`.

    Returns:
        The headings, and the rows as lists of strings.
    """
    measured = (*MEASURED, *task.scores)
    columns = ["model", "units", "whose", "runs", "parameters"]
    columns += [_heading(axis) for axis in measured]
    printed = {(r.layer, r.units): r for r in paper.ROWS if r.task == task.name}
    wanted = dict.fromkeys(
        [*printed, *((p.model, p.units) for p in task.stars)]
    )
    rows = []
    for model, units in wanted:
        names = [figures.layer(model), str(units)]
        point, theirs = task.find(model, units), printed.get((model, units))
        if point is not None:
            row = [*names, "ours", str(len(point.rows))]
            row += [figures.count(point.parameters)]
            rows.append(row + [point.text(axis) for axis in measured])
        if theirs is not None:
            row = [*names, "the paper's", "5"]
            row += [figures.thousands(theirs.parameters)]
            rows.append(row + [_printed(theirs, axis) for axis in measured])
    return columns, rows


def _heading(axis):
    return axis.title.replace(" in ", ", ").removeprefix("Test ")


def _printed(row, axis):
    """A figure of the paper, with its deviation where it has one."""
    name = axis.column.split("/")[1] if "/" in axis.column else axis.column
    if name in row.metrics:
        values = row.metrics[name], row.deviations[name]
        return plus_minus(*(f"{axis.factor * v:.2f}" for v in values))
    value = axis.factor * getattr(row, name)
    return figures.number(value, ".1f" if name == "occupancy" else ".2f")


def _against_paper(task):
    columns, rows = paper_rows(task)
    return section(
        f"{figures.TASKS[task.name]}: the paper's table and ours",
        tag(
            "p",
            "Rows marked “the paper's” are as printed there, for "
            f"{paper.DATA[task.name]}, and were not measured here. Ours are "
            f"for {task.data}: test results may be compared only if that is "
            "the whole of the same data, trained as long.",
        ),
        table(
            columns,
            rows,
            left=3,
            highlight=[i for i, row in enumerate(rows) if row[2] == "ours"],
        ),
    )


def pair_rows(task):
    """The ratios of the pair at the performance of each SpaR."""
    score = task.scores[0]
    columns = ["at the performance of", score.title]
    columns += [f"SpaR / DuSpaR: {axis.title}" for axis in COSTS]
    rows = []
    if not task.paired:
        return columns, rows
    for point in [None, *task.paired[1].points]:
        found = [task.pair(cost, score, point) for cost in COSTS]
        if not any(found):
            continue
        if point and all(ratio is None or ratio.bound for ratio in found):
            continue
        name = point.name if point else "the best that both reach"
        level = next(ratio.level for ratio in found if ratio)
        rows.append(
            [name, score.text(level)]
            + [ratio.text() if ratio else figures.NONE for ratio in found]
        )
    return columns, rows


def _pairs(task):
    columns, rows = pair_rows(task)
    if not rows:
        return None
    return section(
        f"{figures.TASKS[task.name]}: DuSpaR and SpaR at equal performance",
        tag(
            "p",
            "How many times more SpaR costs than a DuSpaR that is as good. "
            "DuSpaR's cost is interpolated between its widths. “At least”: "
            "even the narrowest DuSpaR is better, and stands for it. "
            f"{_uncertainty(task)}",
        ),
        table(columns, rows, left=1),
    )


def _points(task):
    axes = (*MEASURED, COSTS[1], *task.scores)
    rows = [
        [
            point.name,
            len(point.rows),
            figures.count(point.parameters),
            *(point.text(axis) for axis in axes),
        ]
        for curve in task.curves
        for point in curve.points
    ]
    columns = ["point", "seeds", "parameters", *(a.title for a in axes)]
    return section(
        f"{figures.TASKS[task.name]}: all points",
        details(f"{len(rows)} points", table(columns, rows)),
    )


def _trials(task, base):
    axes = (*MEASURED, COSTS[1], *task.scores)
    rows = []
    for row in task.rows:
        name = row.get("trial")
        report = task.folder / str(row.get("run")) / "report.html"
        if report.is_file():
            address = os.path.relpath(report.resolve(), base)
            address = urllib.parse.quote(pathlib.Path(address).as_posix())
            name = tag("a", name, href=address)
        values = [row.get(axis.column) for axis in axes]
        rows.append(
            [name, figures.duration(row.get("seconds"))]
            + [
                axis.text(v * axis.factor if figures.is_number(v) else None)
                for axis, v in zip(axes, values)
            ]
        )
    columns = ["trial", "training", *(axis.title for axis in axes)]
    return section(
        f"{figures.TASKS[task.name]}: all trainings",
        details(f"{len(rows)} trainings", table(columns, rows)),
    )
