"""The page of a sweep, `tradeoff.html`, and its tables."""

import paper
from pages import formats
from pages import plots
from pages import rendering
from tasks import layer_title
from tradeoff import panels
from tradeoff.points import COSTS
from tradeoff.points import Axis
from tradeoff.points import plus_minus

WIDTH, HEIGHT = 560, 360
MEASURED = (
    Axis("dense_macs", "dense, M MAC/s", 1e-6),
    Axis("effective_macs", "effective, M MAC/s", 1e-6),
    Axis("occupancy", "occupancy, %", 100, 1),
)


def write(tasks, path):
    """Writes the page.

    Args:
        tasks: List of `TaskCurves`, each with the `folder` of its sweep.
        path: `pathlib.Path` of the HTML file.

    Returns:
        The path.
    """
    return rendering.save(
        path,
        "tradeoff.html",
        title="Performance and cost",
        sections=[section(task, path) for task in tasks],
    )


def section(task, path):
    """What the page shows of one task."""
    columns, rows = paper_rows(task)
    return {
        "task": task,
        "charts": [
            chart
            for score in task.scores
            for cost in COSTS
            if (chart := tradeoff_chart(task, cost, score)) is not None
        ],
        "paper": {
            "columns": columns,
            "rows": rows,
            "strong": [i for i, row in enumerate(rows) if row[2] == "ours"],
        },
        "pairs": pair_rows(task),
        "points": point_rows(task),
        "trials": trial_rows(task, path),
    }


def tradeoff_chart(task, cost, score):
    """The chart of a task on two axes.

    Args:
        task: A `TaskCurves`.
        cost: `Axis` of the horizontal axis, which is logarithmic.
        score: `Axis` of the vertical axis.

    Returns:
        A `plots.Chart`, or `None` if nothing was measured.
    """
    drawn = [curve for curve in task.curves if curve.place(cost, score)]
    if not drawn:
        return None
    title = f"{score.title} against {cost.title[0].lower()}{cost.title[1:]}"
    names = ", ".join(curve.name for curve in drawn if curve.shown)
    pair = task.pair(cost, score)
    note = f"SpaR / DuSpaR at equal performance: {pair.text()}" if pair else ""
    with plots.drawing(WIDTH, HEIGHT) as figure:
        axes = figure.subplots()
        panels.panel(axes, task, cost, score, drawn)
        axes.set_ylabel("")
        points = list(_tips(task, drawn, cost, score, pair))
        svg = plots.svg(figure, f"{title}: {names}", points, "chart tradeoff")
    return plots.Chart(title, svg, note=note)


def _tips(task, drawn, cost, score, pair):
    """Yields what to show under the pointer."""
    for curve in drawn:
        for x, y, point in curve.place(cost, score):
            tip = "\n".join(
                (
                    point.name,
                    f"{score.title}: {point.text(score)}",
                    f"{cost.title}: {point.text(cost)}",
                    f"{formats.count(point.parameters)} parameters, "
                    f"{len(point.rows)} seed(s)",
                )
            )
            number = task.curves.index(curve)
            yield {"x": x, "y": y, "tip": tip, "curve": number}
    for curve, x in zip(task.paired, pair.costs if pair else ()):
        tip = (
            f"{curve.name} at {score.text(pair.level)}\n"
            f"{cost.title}: {cost.text(x)}"
        )
        number = task.curves.index(curve)
        yield {"x": x, "y": pair.level, "tip": tip, "curve": number}


def paper_rows(task):
    """The paper's table with ours beside it.

    Args:
        task: A `TaskCurves`.

    Returns:
        The headings, and the rows as lists of strings.
    """
    measured = (*MEASURED, *task.scores)
    columns = ["model", "units", "whose", "runs", "parameters"]
    columns += [
        axis.title.replace(" in ", ", ").removeprefix("Test ")
        for axis in measured
    ]
    printed = {(r.layer, r.units): r for r in paper.ROWS if r.task == task.name}
    wanted = dict.fromkeys(
        [*printed, *((p.model, p.units) for p in task.stars)]
    )
    rows = []
    for model, units in wanted:
        names = [layer_title(model), str(units)]
        point, theirs = task.find(model, units), printed.get((model, units))
        if point is not None:
            row = [*names, "ours", str(len(point.rows))]
            row += [formats.count(point.parameters)]
            rows.append(row + [point.text(axis) for axis in measured])
        if theirs is not None:
            row = [*names, "the paper's", "5"]
            row += [formats.thousands(theirs.parameters)]
            rows.append(row + [_printed(theirs, axis) for axis in measured])
    return columns, rows


def _printed(row, axis):
    """A figure of the paper, with its deviation where it has one."""
    name = axis.column.split("/")[1] if "/" in axis.column else axis.column
    if name in row.metrics:
        values = row.metrics[name], row.deviations[name]
        return plus_minus(*(f"{axis.factor * v:.2f}" for v in values))
    value = axis.factor * getattr(row, name)
    return formats.number(value, ".1f" if name == "occupancy" else ".2f")


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
            + [ratio.text() if ratio else formats.NONE for ratio in found]
        )
    return columns, rows


def point_rows(task):
    """The table of all points: headings and rows."""
    axes = (*MEASURED, COSTS[1], *task.scores)
    rows = [
        [
            point.name,
            len(point.rows),
            formats.count(point.parameters),
            *(point.text(axis) for axis in axes),
        ]
        for curve in task.curves
        for point in curve.points
    ]
    return ["point", "seeds", "parameters", *(a.title for a in axes)], rows


def trial_rows(task, path):
    """The table of all trainings: headings, rows and addresses of pages."""
    axes = (*MEASURED, COSTS[1], *task.scores)
    rows, links = [], []
    for row in task.rows:
        report = task.folder / str(row.get("run")) / "report.html"
        links.append(rendering.link(report, path))
        rows.append(
            [row.get("trial"), formats.duration(row.get("seconds"))]
            + [
                formats.scaled(row.get(axis.column), axis.factor, axis.digits)
                for axis in axes
            ]
        )
    columns = ["trial", "training", *(axis.title for axis in axes)]
    return columns, rows, links
