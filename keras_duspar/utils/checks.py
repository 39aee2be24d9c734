"""Checks of arguments, so that every bad value is answered in the same words.

Each check returns the value in its canonical type or raises a `ValueError`
that names the argument, what was expected and what came.
"""

import numbers

import numpy as np


def bad_value(name, expected, value, hint=""):
    """Builds the `ValueError` for argument `name`."""
    message = f"`{name}` must be {expected}. Received: {name}={value!r}"
    if isinstance(value, (list, tuple)):
        shapes = [tuple(v.shape) for v in value if hasattr(v, "shape")]
        if shapes:
            message = (
                f"`{name}` must be {expected}. Received a "
                f"{type(value).__name__} of {len(value)} with tensors of "
                f"shapes {shapes}"
            )
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        message = (
            f"`{name}` must be {expected}. Received a tensor of shape "
            f"{tuple(value.shape)} and dtype {value.dtype}"
        )
    return ValueError(f"{message}. {hint}" if hint else f"{message}.")


def bad_shape(name, expected, shape, owner=None):
    """Builds the `ValueError` for a tensor, of a layer or loss if given."""
    of = "" if owner is None else f" of {type(owner).__name__}"
    shown = tuple(shape)
    return ValueError(f"`{name}`{of} must {expected}. Received shape: {shown}.")


def axes(name, shape, form, owner=None, known=False):
    """Raises unless a shape has the axes of a form.

    Args:
        name: String, the tensor's name.
        shape: Tuple of integers and `None`.
        form: String, such as `"(batch, timesteps, features)"`.
        owner: The layer or loss that takes the tensor. Default: `None`.
        known: Boolean, whether the last size must be known. Default: `False`.
    """
    names = form[1:-1].split(", ")
    expected = f"be of shape `{form}`"
    if known:
        expected += f" with a known number of {names[-1]}"
    if len(shape) != len(names) or (known and shape[-1] is None):
        raise bad_shape(name, expected, shape, owner)


def positive_integer(name, value):
    """Returns `value` as an `int` of at least 1."""
    if (
        isinstance(value, bool)
        or not isinstance(value, numbers.Integral)
        or value < 1
    ):
        raise bad_value(name, "a positive integer", value)
    return int(value)


def number(name, value, interval="(-inf, inf)"):
    """Returns `value` as a `float` within `interval`, such as `"[0, 1)"`."""
    expected = f"a number in {interval}"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise bad_value(name, expected, value)
    value = float(value)
    low, high = (float(end) for end in interval[1:-1].split(","))
    above = low < value if interval[0] == "(" else low <= value
    below = value < high if interval[-1] == ")" else value <= high
    if not (above and below):  # also false for NaN
        raise bad_value(name, expected, value)
    return value


def choice(name, value, choices):
    """Returns `value` if it is one of `choices`."""
    if value not in choices:
        listed = ", ".join(repr(c) for c in choices)
        raise bad_value(name, f"one of {listed}", value)
    return value


def labels(name, value, counts):
    """Returns the names of classes as a list of different, non-empty strings.

    Args:
        name: String, the argument's name.
        value: List or tuple.
        counts: Integers, how many there may be.
    """
    listed = " or ".join(str(count) for count in dict.fromkeys(counts))
    expected = f"a list of {listed} different strings, none of them empty"
    if not isinstance(value, (list, tuple)) or not all(
        isinstance(label, str) and label.strip() for label in value
    ):
        raise bad_value(name, expected, value)
    doubled = sorted({label for label in value if value.count(label) > 1})
    if doubled:
        raise bad_value(name, expected, value, f"Doubled: {doubled}.")
    if len(value) not in counts:
        raise ValueError(
            f"`{name}` must be {expected}, one for each class. Received "
            f"{len(value)}: {', '.join(value[:3])}, ..."
        )
    return list(value)


def float_dtype(name, dtype):
    """Raises unless `dtype` is a floating-point type."""
    import keras  # noqa: PLC0415 - tensors come from Keras, arrays do not

    dtype = keras.backend.standardize_dtype(dtype)
    if not keras.backend.is_float_dtype(dtype):
        raise bad_value(
            name,
            "of a floating-point dtype",
            dtype,
            "Cast it with `keras.ops.cast(x, 'float32')`.",
        )


# Samples of audio beyond this are taken for integers that became floats: full
# scale is 1, mixtures and float files may pass it by a few times, and 16-bit
# samples are beyond it unless they are nearly silent.
LOUDEST = 8.0


def samples(name, array):
    """Raises if a NumPy array holds integers, NaN or infinity."""
    if array.dtype.kind in "iu":
        raise _not_full_scale(name, array)
    # The sum alone is the faster question, and nearly always enough.
    if (
        array.dtype.kind == "f"
        and not np.isfinite(array.sum())
        and not np.isfinite(array).all()
    ):
        raise bad_value(name, "finite", array, "It has NaN or infinity.")


def audio(name, value):
    """Raises if audio is not of floats around [-1, 1], as far as one can see.

    Args:
        name: String, the argument's name.
        value: Array or tensor. If it is only being traced it has a dtype, but
            no values yet, and its loudness passes.
    """
    import keras  # noqa: PLC0415

    dtype = keras.backend.standardize_dtype(value.dtype)
    if not keras.backend.is_float_dtype(dtype):
        raise _not_full_scale(name, value)
    try:
        array = np.asarray(keras.ops.convert_to_numpy(value), "float32")
    except Exception:
        return
    loudness(name, array)


def loudness(name, array):
    """Raises if a NumPy array of floats is far too loud to be audio."""
    # The energy alone is the faster question, and often enough.
    if array.size and not np.vdot(array, array) <= LOUDEST**2:
        peak = float(np.abs(array).max())
        if peak > LOUDEST:
            raise _not_full_scale(name, array, f"It goes up to {peak:g}.")


def _not_full_scale(name, value, found=""):
    hint = "Divide 16-bit samples by 32768."
    return bad_value(
        name, "floats in [-1, 1]", value, f"{found} {hint}" if found else hint
    )


def finite_array(name, value):
    """Raises if a concrete `value` holds NaN or infinity.

    A tensor that is only being traced has no values yet and passes.
    """
    import keras  # noqa: PLC0415

    try:
        array = np.asarray(keras.ops.convert_to_numpy(value), "float64")
    except Exception:
        return
    if not np.isfinite(array).all():
        bad = int(array.size - np.isfinite(array).sum())
        raise ValueError(
            f"`{name}` must give finite values. Received {bad} of "
            f"{array.size} entries that are NaN or infinite."
        )
