"""The colors of pages and figures."""

import yaml_tables

COLORS = yaml_tables.beside(__file__)
LIGHT, DARK = ({name: pair[i] for name, pair in COLORS.items()} for i in (0, 1))
SERIES = tuple(LIGHT[f"c{i}"] for i in range(9))


def series(number):
    """The color of a curve by its number."""
    return SERIES[number % len(SERIES)]
