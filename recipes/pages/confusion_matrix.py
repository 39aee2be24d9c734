"""Which labels are taken for which."""

import matplotlib.figure
import matplotlib.patches

from pages import formats
from pages import palette
from pages import plots

CELL = 18
LETTER = 7.2  # mean width of a letter of a label
LONGEST = 26  # letters of a label that are drawn
MOST_PAIRS = 12
# Up to here there is room for a count inside a cell.
MOST_COUNTED = 12


def matrix(true, predicted, counts):
    """The heat map of the cells that are not zero.

    Args:
        true: List of strings, the labels of the rows.
        predicted: List of strings, those of the columns.
        counts: List of rows.

    Returns:
        An `svg` element.
    """
    size = CELL if len(true) > MOST_COUNTED else 2 * CELL
    left = 10 + LETTER * max(len(_short(label)) for label in true)
    top = 10 + LETTER * max(len(_short(label)) for label in predicted)
    width = left + size * len(predicted) + 2
    height = top + size * len(true) + 2
    points = []
    with plots.drawing(width, height) as figure:
        figure.set_layout_engine("none")
        axes = figure.add_axes(
            (
                left / width,
                2 / height,
                size * len(predicted) / width,
                size * len(true) / height,
            )
        )
        axes.set(
            xlim=(-0.5, len(predicted) - 0.5), ylim=(len(true) - 0.5, -0.5)
        )
        axes.spines[:].set(visible=True, color=palette.LIGHT["rule"])
        axes.tick_params(
            length=0, labelsize=11.5, labelcolor=palette.LIGHT["ink"]
        )
        axes.xaxis.tick_top()
        axes.set_xticks(
            range(len(predicted)), map(_short, predicted), rotation=90
        )
        axes.set_yticks(range(len(true)), map(_short, true))
        for i, row in enumerate(counts):
            total = sum(row)
            for j, count in enumerate(row):
                if not count:
                    continue
                share = count / total
                color = "c0" if true[i] == predicted[j] else "wrong"
                axes.add_patch(
                    matplotlib.patches.Rectangle(
                        (j - 0.475, i - 0.475),
                        0.95,
                        0.95,
                        facecolor=palette.LIGHT[color],
                        alpha=round(0.3 + 0.7 * share, 3),
                        linewidth=0,
                    )
                )
                if size > CELL:
                    ground = "card" if share > 0.5 else "ink"
                    axes.text(
                        j,
                        i,
                        f"{count:.0f}",
                        color=palette.LIGHT[ground],
                        ha="center",
                        va="center",
                        fontsize=11.5,
                    )
                points.append(
                    {
                        "x": j,
                        "y": i,
                        "tip": f"{true[i]} → {predicted[j]}: {count:.0f} of "
                        f"{total:.0f} ({formats.percent(share)})",
                    }
                )
        label = f"Confusion matrix of {len(true)} labels"
        # Smaller than this its labels could not be read.
        style = f"width:{width:.0f}px"
        return plots.svg(figure, label, points, "matrix", style=style)


def pairs(true, predicted, counts):
    """Rows of the errors that happen most often."""
    errors = [
        (count, sum(row), i, j)
        for i, row in enumerate(counts)
        for j, count in enumerate(row)
        if count and true[i] != predicted[j]
    ]
    errors.sort(key=lambda e: (-e[0], -e[0] / e[1]))
    return [
        [
            true[i],
            predicted[j],
            f"{count:.0f}",
            f"{total:.0f}",
            formats.percent(count / total),
        ]
        for count, total, i, j in errors[:MOST_PAIRS]
    ]


def recalls(true, predicted, counts):
    """Rows of how often each label was right, the worst first."""
    found = []
    for label, row in zip(true, counts):
        right = sum(c for name, c in zip(predicted, row) if name == label)
        found.append((right / sum(row) if sum(row) else 1, label, right, row))
    found.sort(key=lambda item: item[:2])
    return [
        [
            label,
            f"{right:.0f}",
            f"{sum(row):.0f}",
            formats.percent(share) if sum(row) else formats.NONE,
        ]
        for share, label, right, row in found
    ]


def _short(label):
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"
