"""Curves of performance against cost, for the page and for paper."""

import math
import textwrap

import matplotlib
import matplotlib.figure
import matplotlib.lines

from pages import palette
from tasks import TASKS
from tradeoff.points import COSTS

# Curves can be told apart in gray by these.
MARKERS = "osv^Xp<>P"
# Letters of a line above the figure.
TITLE_WIDTH = 64
INK, CARD, RULE = (palette.LIGHT[name] for name in ("ink", "card", "rule"))


def draw(tasks, stem):
    """Draws the figure: a column per task, a row per kind of cost.

    Args:
        tasks: List of `TaskCurves`.
        stem: `pathlib.Path` of the files, without their suffix.

    Returns:
        The paths of the PNG and of the SVG.
    """
    style = {"svg.hashsalt": "keras_duspar", "font.size": 10}
    costs = [c for c in COSTS if any(_drawn(task, c) for task in tasks)]
    with matplotlib.rc_context(style):
        shape = (len(costs), len(tasks))
        figure = matplotlib.figure.Figure(
            (max(6.4, 5.2 * shape[1]), 4.2 * shape[0] + 0.8)
        )
        axes = figure.subplots(*shape, squeeze=False)
        for column, task in enumerate(tasks):
            for row, cost in enumerate(costs):
                _paper_panel(axes[row, column], task, cost)
            axes[0, column].set_title(_title(task), fontsize=10)
        _legend(figure, tasks)
        paths = [stem.with_suffix(suffix) for suffix in (".png", ".svg")]
        figure.savefig(paths[0], dpi=160)
        figure.savefig(paths[1], metadata={"Date": None})
    return paths


def _drawn(task, cost):
    """The curves of a task that have something to show against a cost."""
    score = task.scores[0]
    return [c for c in task.curves if c.shown and c.place(cost, score)]


def _title(task):
    """What the task is, its data, and what the error bars are."""
    lines = [TASKS[task.name].title]
    lines += textwrap.wrap(task.data, TITLE_WIDTH)
    return "\n".join([*lines, f"{task.seeds_text}: {task.bars_text}"])


def _paper_panel(axes, task, cost):
    """The main curves of a task against one cost, with the ratio in words."""
    score = task.scores[0]
    drawn = _drawn(task, cost)
    if not drawn:
        words = "not measured"
        axes.text(0.5, 0.5, words, ha="center", transform=axes.transAxes)
        axes.set(xticks=[], yticks=[])
        return
    panel(axes, task, cost, score, drawn)
    pair = task.pair(cost, score)
    if pair:
        # Curves rise to the right: below them is room.
        axes.text(
            0.98,
            0.03,
            f"SpaR / DuSpaR at equal performance: {pair.text()}",
            ha="right",
            fontsize=9,
            transform=axes.transAxes,
            bbox={"facecolor": CARD, "edgecolor": RULE, "pad": 3},
            zorder=7,
        )


def panel(axes, task, cost, score, drawn):
    """One pair of axes.

    The artists of a curve have the id `curve-` and its place in the task.

    Args:
        axes: Matplotlib `Axes`.
        task: A `TaskCurves`.
        cost: `Axis` of the horizontal axis, which is logarithmic.
        score: `Axis` of the vertical axis.
        drawn: List of the `Curve`s to draw, which have points on these axes.
    """
    axes.set_xlabel(f"{cost.title}, log scale")
    axes.set_ylabel(score.title)
    axes.grid(True, which="major", color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xscale("log")
    for curve in drawn:
        number = task.number(curve)
        name = f"curve-{task.curves.index(curve)}"
        color = palette.series(number)
        x, y, points = zip(*curve.place(cost, score))
        across = [p.deviation(cost) or 0 for p in points]
        bars = axes.errorbar(
            x,
            y,
            [p.deviation(score) or 0 for p in points],
            # A logarithmic axis has no place for what is below zero.
            [[min(d, at / 2) for d, at in zip(across, x)], across],
            color=color,
            linestyle="-" if curve.main else "--",
            marker=MARKERS[number % len(MARKERS)],
            markersize=6,
            linewidth=1.6,
            elinewidth=1,
            capsize=2,
            zorder=3,
        )
        line, caps, stems = bars
        for artist in (line, *caps, *stems):
            artist.set_gid(name)
        stars = [(a, b) for a, b, p in zip(x, y, points) if p in task.stars]
        if stars:
            axes.scatter(
                *zip(*stars),
                marker="*",
                s=230,
                color=color,
                edgecolor=INK,
                linewidth=0.8,
                zorder=5,
                gid=name,
            )
    pair = task.pair(cost, score)
    if pair:
        for x, curve in zip(pair.costs, task.paired):
            # The ground's color, so that a star below it can be seen.
            axes.scatter(
                x,
                pair.level,
                marker="D",
                s=50,
                color=CARD,
                edgecolor=palette.series(task.number(curve)),
                linewidth=2,
                zorder=6,
                gid=f"curve-{task.curves.index(curve)}",
            )
        axes.plot(pair.costs, [pair.level] * 2, ":", color=INK, linewidth=1)
    costs = [x for c in drawn for x, _, _ in c.place(cost, score)]
    places = round_numbers(min(costs), max(costs))
    axes.set_xticks(places, [f"{p:g}" for p in places])
    axes.minorticks_off()


def round_numbers(low, high):
    """Round numbers within an interval for a logarithmic axis.

    Args:
        low: Positive float.
        high: Float, not below `low`.

    Returns:
        A list of at least two floats, which may reach a little beyond.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        found = [d * 10.0**p for p in powers for d in digits]
        found = [v for v in found if 0.9 * low <= v <= 1.1 * high]
        if len(found) >= 4:
            break
    return [float(f"{v:.6g}") for v in found] or [low, high]


def _legend(figure, tasks):
    names = {
        curve.name: (task.number(curve), curve.main)
        for task in tasks
        for curve in task.curves
        if curve.shown
    }
    line = matplotlib.lines.Line2D
    handles = [
        line(
            [],
            [],
            color=palette.series(number),
            marker=MARKERS[number % len(MARKERS)],
            linestyle="-" if main else "--",
            label=name,
        )
        for name, (number, main) in names.items()
    ]
    plain = {"color": CARD, "markeredgecolor": INK}
    if any(task.stars for task in tasks):
        label = "equal parameters"
        handles.append(line([], [], marker="*", ms=13, label=label, **plain))
    if any(task.paired for task in tasks):
        label = "pair at equal performance"
        handles.append(line([], [], marker="D", ms=7, label=label, **plain))
    columns = min(len(handles), 4 * max(1, len(tasks)))
    rows = -(-len(handles) // columns)
    figure.legend(
        handles=handles, loc="lower center", ncols=columns, frameon=False
    )
    height = figure.get_figheight()
    figure.tight_layout(rect=(0, (0.1 + 0.27 * rows) / height, 1, 1))
