"""Batches of inputs from the forms in which data may come."""

import keras
import numpy as np

from keras_duspar.utils import checks


def list_batches(model, data, batch_size):
    """Yields batches of inputs from any of the forms that `data` may have.

    Args:
        model: The Keras model or layer that is to take the batches.
        data: Input of the model, as in `profile()`.
        batch_size: Positive integer, how arrays are cut.

    Returns:
        A generator of batches, as NumPy arrays.
    """
    if data is None:
        raise checks.bad_value(
            "data",
            "an array or an iterable of batches",
            data,
            "What a sparse model costs depends on its input.",
        )
    if isinstance(data, tuple):
        data = data[0]
    several = len(getattr(model, "inputs", None) or [None]) > 1
    is_list_of_inputs = isinstance(data, list) and several
    if hasattr(data, "shape") or isinstance(data, dict) or is_list_of_inputs:
        yield from _cut(data, batch_size)
    else:
        for batch in _iterate(data):
            yield _checked(batch[0] if isinstance(batch, tuple) else batch)


def _iterate(data):
    if isinstance(data, keras.utils.PyDataset):
        return (data[i] for i in range(len(data)))
    if isinstance(data, str) or not hasattr(data, "__iter__"):
        raise checks.bad_value(
            "data", "an array or an iterable of batches", data
        )
    return iter(data)


def _cut(data, batch_size):
    size = len(keras.tree.flatten(data)[0])
    for start in range(0, size, batch_size):
        stop = start + batch_size
        yield _checked(
            keras.tree.map_structure(lambda x: x[start:stop], data)  # noqa: B023
        )


def _checked(batch):
    """A batch as NumPy arrays; NaN would count as a non-zero."""

    def check(array):
        if not hasattr(array, "shape") or len(array.shape) == 0:
            raise checks.bad_value(
                "data", "made of arrays, a batch each", array
            )
        array = keras.ops.convert_to_numpy(array)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(
                "`data` must be finite. Received a batch of shape "
                f"{array.shape} with NaN or infinite entries."
            )
        return array

    return keras.tree.map_structure(check, batch)
