"""Arrays that go into a file's tensors."""

import numpy as np

from keras_duspar.utils import checks


def check_array(name, value, shape, dtype):
    """An array of the shape and dtype of a tensor, its batch axis maybe new.

    Args:
        name: String, what error messages call it.
        value: The array, with or without a batch axis.
        shape: Tuple of integers, -1 for any size.
        dtype: String, the tensor's dtype.

    Returns:
        The array and whether the batch axis is new.
    """
    try:
        array = np.asarray(value)
    except ValueError as e:  # rows of different lengths
        raise _wrong_shape(name, shape, value) from e
    if array.dtype.kind != np.dtype(dtype).kind:
        if dtype == "float32":
            checks.samples(name, array)
        raise checks.bad_value(name, f"of dtype {dtype}", array)
    single = array.ndim == len(shape) - 1
    if single:
        array = array[np.newaxis]
    fits = array.ndim == len(shape) and all(
        size in (-1, actual) for size, actual in zip(shape, array.shape)
    )
    if not fits:
        raise _wrong_shape(name, shape, value)
    if 0 in array.shape:
        raise checks.bad_value(name, "not empty", array)
    if dtype == "float32":
        checks.samples(name, array)
    return np.ascontiguousarray(array, dtype), single


def _wrong_shape(name, shape, value):
    expected = ", ".join("any" if n == -1 else str(n) for n in shape)
    return checks.bad_value(name, f"of shape ({expected})", value)
