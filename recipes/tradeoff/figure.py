"""The figure on paper: PNG and SVG, a column a task, a row a kind of cost."""

import math
import textwrap

from keras_duspar.utils.optional import optional_package
from tradeoff.points import COSTS
from training.report import figures

# The colours of the pages' style sheet, readable in grey by the marker.
COLOURS = (
    "#0060a8",
    "#b3440a",
    "#00735c",
    "#7a3e9d",
    "#806200",
    "#b0306a",
    "#4a5d69",
    "#1b2129",
)
MARKERS = "osv^Xp<>"
# Letters of a line above the figure.
TITLE_WIDTH = 64


def draw(tasks, stem):
    """Draws the figure.

    Args:
        tasks: List of `tasks.Task`.
        stem: `pathlib.Path` of the files, without their suffix.

    Returns:
        The paths of the PNG and of the SVG.
    """
    matplotlib = optional_package("matplotlib")
    matplotlib.use("Agg")
    pyplot = optional_package("matplotlib.pyplot")
    style = {"svg.hashsalt": "keras_duspar", "font.size": 10}
    costs = [c for c in COSTS if any(_drawn(task, c) for task in tasks)]
    with matplotlib.rc_context(style):
        shape = (len(costs), len(tasks))
        figure, axes = pyplot.subplots(
            *shape,
            figsize=(max(6.4, 5.2 * shape[1]), 4.2 * shape[0] + 0.8),
            squeeze=False,
        )
        for column, task in enumerate(tasks):
            for row, cost in enumerate(costs):
                panel(axes[row, column], task, cost)
            axes[0, column].set_title(_title(task), fontsize=10)
        _legend(figure, tasks, matplotlib.lines.Line2D)
        paths = [stem.with_suffix(suffix) for suffix in (".png", ".svg")]
        figure.savefig(paths[0], dpi=160)
        figure.savefig(paths[1], metadata={"Date": None})
        pyplot.close(figure)
    return paths


def _drawn(task, cost):
    """The curves of a task that have something to show against a cost."""
    score = task.scores[0]
    return [c for c in task.curves if c.main and c.place(cost, score)]


def _title(task):
    """What the task is, its data, and what the error bars are."""
    lines = [figures.TASKS[task.name]]
    lines += textwrap.wrap(task.data, TITLE_WIDTH)
    return "\n".join([*lines, f"{task.seeds_text}: {task.bars_text}"])


def panel(axes, task, cost):
    """One pair of axes: all curves of a task against one cost."""
    score = task.scores[0]
    drawn = _drawn(task, cost)
    axes.set_xlabel(f"{cost.title}, log scale")
    axes.set_ylabel(score.title)
    axes.grid(True, which="major", color="#d9dee5", linewidth=0.6)
    axes.set_axisbelow(True)
    if not drawn:
        words = "not measured"
        axes.text(0.5, 0.5, words, ha="center", transform=axes.transAxes)
        axes.set(xticks=[], yticks=[])
        return
    axes.set_xscale("log")
    for curve in drawn:
        number = task.number(curve)
        x, y, points = zip(*curve.place(cost, score))
        axes.errorbar(
            x,
            y,
            [p.deviation(score) or 0 for p in points],
            [p.deviation(cost) or 0 for p in points],
            color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=5,
            linewidth=1.4,
            elinewidth=1,
            capsize=2,
            zorder=3,
        )
        stars = [(a, b) for a, b, p in zip(x, y, points) if p in task.stars]
        if stars:
            axes.scatter(
                *zip(*stars),
                marker="*",
                s=230,
                color=COLOURS[number % len(COLOURS)],
                edgecolor="#1b2129",
                linewidth=0.8,
                zorder=5,
            )
    pair = task.pair(cost, score)
    if pair:
        colours = [COLOURS[task.number(c) % len(COLOURS)] for c in task.paired]
        for x, colour in zip(pair.costs, colours):
            # White, so that a star below it can be seen.
            axes.scatter(
                x,
                pair.level,
                marker="D",
                s=50,
                color="#ffffff",
                edgecolor=colour,
                linewidth=2,
                zorder=6,
            )
        axes.plot(
            pair.costs, [pair.level] * 2, ":", color="#1b2129", linewidth=1
        )
        # Curves rise to the right: below them is room.
        axes.text(
            0.98,
            0.03,
            f"SpaR / DuSpaR at equal performance: {pair.text()}",
            ha="right",
            fontsize=9,
            transform=axes.transAxes,
            bbox={"facecolor": "white", "edgecolor": "#d9dee5", "pad": 3},
            zorder=7,
        )
    _ticks(axes, [x for c in drawn for x, _, _ in c.place(cost, score)])


def _ticks(axes, costs):
    """Round numbers on the axis of the cost, as they are spoken."""
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


def _legend(figure, tasks, line):
    names = {}
    for task in tasks:
        for curve in task.curves:
            if curve.main:
                names[curve.name] = task.number(curve)
    handles = [
        line(
            [],
            [],
            color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)],
            label=name,
        )
        for name, number in names.items()
    ]
    plain = {"color": "#ffffff", "markeredgecolor": "#1b2129"}
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
