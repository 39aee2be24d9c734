"""Numbers in words: one place for units and digits."""

import math

NONE = "–"
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
    return f"{value:{form}} {unit}".rstrip().replace("-", "\N{MINUS SIGN}")


def percent(value, digits=1):
    """A fraction in percent."""
    return number(100 * value if is_number(value) else None, f".{digits}f", "%")


def millions(value):
    """A number in millions, to the thousand, without its unit."""
    return number(value / 1e6 if is_number(value) else None, ",.3f")


def rate(value):
    """Products a second, in millions."""
    return f"{millions(value)} M MAC/s" if is_number(value) else NONE


def count(value):
    """A whole number with commas."""
    return number(value, ",.0f")


def duration(seconds):
    """Seconds, or minutes and hours where there are many."""
    if not is_number(seconds):
        return NONE
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


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
