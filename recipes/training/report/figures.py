"""Numbers in words: one place for units and digits."""

import math

NONE = "–"
SPACE = "\N{NO-BREAK SPACE}"  # a number and its unit stay on one line
METRICS = {
    "accuracy": "accuracy",
    "pesq_wb": "PESQ-WB",
    "stoi": "STOI",
    "si_sdr": "SI-SDR",
    "si_snr": "SI-SNR",
}
TASKS = {
    "kws": "Keyword spotting",
    "slu": "Spoken language understanding",
    "se": "Speech enhancement",
}
# Named as in the paper; other layers by the name under which they are
# registered.
LAYERS = {
    "gru": "GRU",
    "delta_gru": "Delta-GRU",
    "dynamic_gru": "D-GRU",
    "duspar": "DuSpaR",
    "spar": "SpaR",
    "mingru": "minGRU",
    "ligru": "Li-GRU",
    "irnn": "IRNN",
}


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


def percent(value, digits=1):
    """A fraction in percent."""
    return number(100 * value if is_number(value) else None, f".{digits}f", "%")


def millions(value, unit="", digits=3):
    """A number in millions, by default to the thousand."""
    value = value / 1e6 if is_number(value) else None
    return number(value, f",.{digits}f", unit)


def rate(value):
    """Products a second, in millions."""
    return millions(value, f"M{SPACE}MAC/s")


def count(value):
    """A whole number with commas."""
    return number(value, ",.0f")


def thousands(value):
    """A number in thousands, as the paper prints parameters."""
    return number(value / 1e3, ".1f", "K")


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


def metric(name, value):
    """The value of a metric, such as an accuracy, in its unit."""
    base = name.removeprefix("val_")
    if base == "stoi" or base.endswith("accuracy"):
        return percent(value, 2)
    if base.startswith(("si_sdr", "si_snr")):
        return number(value, ".2f", "dB")
    if base.startswith("pesq"):
        return number(value, ".2f")
    return number(value)


def layer(name):
    """How a recurrent layer is called."""
    return LAYERS.get(name, str(name))
