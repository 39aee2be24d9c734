"""Profiles as text."""

import math

_COLUMNS = (
    "layer",
    "kind",
    "params",
    "steps/s",
    "dense MAC/s",
    "effective MAC/s",
    "fetches/s",
    "occupancy",
    "of operands",
    "biases/s",
    "element-wise/s",
)


def percent(fraction):
    """A fraction in percent, or nothing if it is not a number."""
    return "" if math.isnan(fraction) else f"{100 * fraction:.2f} %"


def millions(number):
    """A number in millions, to the thousand."""
    return f"{number / 1e6:,.3f} M"


def profile_table(profile):
    """The table of a `Profile`."""
    rows = [_row(layer, layer.name, layer.kind) for layer in profile.layers]
    total = _row(profile, "total", "")
    columns = _COLUMNS
    if any(layer.weight_density < 1 for layer in profile.layers):
        columns += ("non-zero weights", "non-zero MAC/s")
        figures = [*profile.layers, profile]
        *rows, total = (
            (*row, percent(f.weight_density), millions(f.nonzero_macs))
            for row, f in zip([*rows, total], figures)
        )
    return text_table(
        columns, rows, total, left=("layer", "kind", "of operands")
    )


def _row(figures, name, kind):
    is_layer = bool(kind)
    return (
        name,
        kind,
        f"{figures.params:,}",
        f"{figures.steps_per_second:,.6g}" if is_layer else "",
        millions(figures.dense_macs),
        millions(figures.effective_macs),
        millions(figures.weight_fetches),
        percent(figures.occupancy),
        ", ".join(
            f"{name} {percent(value)}"
            for name, value in figures.occupancies.items()
        )
        if is_layer and figures.recurrent
        else "",
        millions(figures.biases),
        millions(figures.elementwise),
    )


def text_table(columns, rows, footer=None, left=()):
    """Lines up rows of strings under their headings.

    Args:
        columns: Sequence of strings, the headings.
        rows: List of sequences of strings.
        footer: Optional sequence of strings, set apart below the rows.
        left: Headings of the columns that are aligned to the left.

    Returns:
        The table as a string.
    """
    footer = [footer] if footer else []
    widths = [max(map(len, c)) for c in zip(columns, *rows, *footer)]

    def line(cells):
        aligned = (
            cell.ljust(width) if name in left else cell.rjust(width)
            for cell, width, name in zip(cells, widths, columns)
        )
        return "  ".join(aligned).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    lines = [line(columns), rule, *map(line, rows)]
    return "\n".join(lines + [text for f in footer for text in (rule, line(f))])
