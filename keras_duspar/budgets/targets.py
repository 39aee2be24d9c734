"""What a budget may be, and the occupancy that it means for a model."""

from keras_duspar.utils import checks

KINDS = ("occupancy", "macs_per_second", "microseconds")
# What a text ends with, and what it stands for.
_UNITS = {
    "us": ("microseconds", 1.0),
    "k": ("macs_per_second", 1e3),
    "M": ("macs_per_second", 1e6),
    "G": ("macs_per_second", 1e9),
    "": ("occupancy", 1.0),
}


def parse(text):
    """The arguments of `keras_duspar.callbacks.Budget` that a text means.

    Args:
        text: String: an occupancy such as `"0.28"`, MACs per second such as
            `"1.2M"`, or a time per frame such as `"3us"`.

    Returns:
        A dictionary of one name out of `KINDS` to a float.
    """
    for unit, (kind, factor) in _UNITS.items():
        if text.endswith(unit):
            try:
                value = factor * float(text.removesuffix(unit))
                return {kind: check(kind, value)}
            except ValueError:
                break
    raise checks.bad_value(
        "budget", "such as '0.28', '1.2M' MACs per second or '3us'", text
    )


def check(kind, value):
    """Returns a target of one of the `KINDS` as a float."""
    interval = "(0, 1)" if kind == "occupancy" else "(0, inf)"
    return checks.number(kind, value, interval)


def only(**targets):
    """The one target that is given, as a pair of its kind and its value."""
    given = {k: v for k, v in targets.items() if v is not None}
    if len(given) != 1:
        listed = ", ".join(f"`{kind}`" for kind in targets)
        received = ", ".join(f"{k}={v!r}" for k, v in given.items()) or "none"
        raise ValueError(
            f"One of {listed} must be given. Received: {received}."
        )
    ((kind, value),) = given.items()
    return kind, check(kind, value)
