"""Which labels are taken for which."""

from training.report import figures
from training.report.markup import details
from training.report.markup import section
from training.report.markup import table
from training.report.markup import tag

CELL = 18
LETTER = 6.4  # mean width of a letter of a label
LONGEST = 26  # letters of a label that are drawn
MOST_PAIRS = 12
# Up to here there is room for a count inside a cell.
MOST_COUNTED = 12


def confusion(run):
    """The section of `confusion.csv`."""
    if run.confusion is None:
        return None
    true, predicted = run.confusion["true"], run.confusion["predicted"]
    counts = run.confusion["counts"]
    return section(
        "Confusion matrix",
        tag(
            "p",
            "Rows are true labels, columns what the model said. The colour is "
            "the share of the row: blue is right, orange is wrong. Point at a "
            "cell for its count.",
        ),
        tag(
            "div",
            tag(
                "div",
                matrix(true, predicted, counts),
                class_="scroll",
                tabindex=0,
            ),
            tag(
                "div",
                tag("h3", "Most confused pairs"),
                pairs(true, predicted, counts),
            ),
            class_="beside",
        ),
        details("Accuracy of every label", recalls(true, predicted, counts)),
    )


def matrix(true, predicted, counts):
    """The heat map, of cells that are not zero."""
    size = CELL if len(true) > MOST_COUNTED else 2 * CELL
    left = 10 + LETTER * max(len(_short(label)) for label in true)
    top = 10 + LETTER * max(len(_short(label)) for label in predicted)
    width = left + size * len(predicted) + 2
    height = top + size * len(true) + 2
    parts = [
        tag(
            "rect",
            x=round(left, 1),
            y=round(top, 1),
            width=size * len(predicted),
            height=size * len(true),
            class_="empty",
        )
    ]
    for i, label in enumerate(true):
        y = top + size * (i + 0.5) + 4
        parts.append(_label(label, left - 5, y, text_anchor="end"))
    for j, label in enumerate(predicted):
        x, y = left + size * (j + 0.5) + 4, top - 5
        turn = f"rotate(-90 {x:.1f} {y:.1f})"
        parts.append(_label(label, x, y, transform=turn))
    for i, row in enumerate(counts):
        total = sum(row)
        for j, count in enumerate(row):
            if not count:
                continue
            x, y = left + size * j, top + size * i
            share = count / total
            parts.append(
                tag(
                    "rect",
                    x=round(x + 0.5, 1),
                    y=round(y + 0.5, 1),
                    width=size - 1,
                    height=size - 1,
                    fill_opacity=round(0.3 + 0.7 * share, 3),
                    class_="right" if true[i] == predicted[j] else "wrong",
                    data_tip=f"{true[i]} → {predicted[j]}: {count:.0f} of "
                    f"{total:.0f} ({figures.percent(share)})",
                )
            )
            if size > CELL:
                parts.append(
                    tag(
                        "text",
                        f"{count:.0f}",
                        x=round(x + size / 2, 1),
                        y=round(y + size / 2 + 4, 1),
                        text_anchor="middle",
                        class_="on" if share > 0.5 else "count",
                    )
                )
    return tag(
        "svg",
        parts,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        # Smaller than this its labels could not be read.
        style=f"width:{width:.0f}px",
        role="img",
        aria_label=f"Confusion matrix of {len(true)} labels",
        class_="matrix",
    )


def pairs(true, predicted, counts):
    """The errors that happen most often, as a table."""
    errors = [
        (count, sum(row), i, j)
        for i, row in enumerate(counts)
        for j, count in enumerate(row)
        if count and true[i] != predicted[j]
    ]
    if not errors:
        return tag("p", "There are none: every label was recognised.")
    errors.sort(key=lambda e: (-e[0], -e[0] / e[1]))
    rows = [
        (
            true[i],
            predicted[j],
            f"{count:.0f}",
            f"{total:.0f}",
            figures.percent(count / total),
        )
        for count, total, i, j in errors[:MOST_PAIRS]
    ]
    columns = ("true label", "taken for", "times", "of", "share")
    return table(columns, rows, left=2)


def recalls(true, predicted, counts):
    """How often each label was right, the worst first."""
    found = []
    for label, row in zip(true, counts):
        right = sum(c for name, c in zip(predicted, row) if name == label)
        found.append((right / sum(row) if sum(row) else 1, label, right, row))
    found.sort(key=lambda item: item[:2])
    rows = [
        (
            label,
            f"{right:.0f}",
            f"{sum(row):.0f}",
            figures.percent(share) if sum(row) else figures.NONE,
        )
        for share, label, right, row in found
    ]
    return table(("label", "right", "of", "accuracy"), rows)


def _short(label):
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"


def _label(label, x, y, **attributes):
    return tag(
        "text",
        _short(label),
        x=round(x, 1),
        y=round(y, 1),
        data_tip=label if len(label) > LONGEST else None,
        **attributes,
    )
