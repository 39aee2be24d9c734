"""Checks of tensors, in the words of `checks`; they need Keras."""

import keras
import numpy as np

from keras_duspar.utils.checks import bad_value


def float_dtype(name, dtype):
    """Raises unless `dtype` is a floating-point type."""
    dtype = keras.backend.standardize_dtype(dtype)
    if not keras.backend.is_float_dtype(dtype):
        raise bad_value(
            name,
            "of a floating-point dtype",
            dtype,
            "Cast it with `keras.ops.cast(x, 'float32')`.",
        )


def finite_array(name, value):
    """Raises if a concrete `value` holds NaN or infinity.

    A tensor that is only being traced has no values yet and passes.
    """
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
