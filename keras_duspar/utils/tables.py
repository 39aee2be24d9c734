"""Tables as text, and the numbers in them."""

import math

_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def percent(fraction):
    """A fraction in percent, or nothing if it is not a number."""
    return "" if math.isnan(fraction) else f"{100 * fraction:.2f} %"


def scaled(numbers):
    """Numbers of one column, all in the unit that fits the largest.

    Args:
        numbers: List of numbers, none negative.

    Returns:
        A list of strings, such as `["6.424 M", "0.250 M"]`.

    Example:

    >>> keras_duspar.utils.tables.scaled([1536, 24])
    ['1.536 k', '0.024 k']
    """
    largest = max(numbers, default=0)
    for factor, prefix in _PREFIXES:
        if largest >= factor:
            return [f"{n / factor:,.3f} {prefix}" for n in numbers]
    return [f"{n:.6g}" for n in numbers]


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
