"""Numbers for readers: one place for units and digits."""

import json
import math

from tasks import METRICS

NONE = "–"
SPACE = "\N{NO-BREAK SPACE}"  # a number and its unit stay on one line


def plain(value):
    """A setting: strings as they are, all else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return " ".join(value) if value else "[]"
    return json.dumps(value, ensure_ascii=False)


def is_number(value):
    """Whether a value is a finite number."""
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and math.isfinite(value)
    )


def number(value, form=".4g", unit=""):
    """A number with its unit, or a dash if there is none."""
    if not is_number(value):
        return NONE
    text = f"{value:{form}}".replace("-", "\N{MINUS SIGN}")
    return f"{text}{SPACE}{unit}" if unit else text


def scaled(value, factor, digits=1, unit=""):
    """A number in another unit, with so many digits after the point."""
    value = factor * value if is_number(value) else None
    return number(value, f",.{digits}f", unit)


def percent(value, digits=1):
    """A fraction in percent."""
    return scaled(value, 100, digits, "%")


def millions(value, digits=3):
    """A number in millions, by default to the thousand."""
    return scaled(value, 1e-6, digits)


def count(value):
    """A whole number with commas."""
    return number(value, ",.0f")


def thousands(value):
    """A number in thousands, as the paper prints parameters."""
    return scaled(value, 1e-3, 1, "K")


def duration(seconds):
    """Seconds, or minutes and hours where there are many."""
    if not is_number(seconds):
        return NONE
    if seconds < 100:
        return number(seconds, ".1f", "s")
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes}{SPACE}min"
    return f"{minutes // 60}{SPACE}h{SPACE}{minutes % 60}{SPACE}min"


def metric(name, value, digits=None):
    """The value of a metric or figure, such as an accuracy, in its unit.

    Args:
        name: String, a column of `metrics.csv` or a name in `METRICS`.
        value: The number.
        digits: Integer, digits after the point. Default: the metric's own.
    """
    known = METRICS.get(name.removeprefix("val_"))
    if known is None:
        return number(value)
    digits = known.digits if digits is None else digits
    return scaled(value, known.factor, digits, known.unit)
