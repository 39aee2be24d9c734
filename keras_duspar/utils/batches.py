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
    shapes = _input_shapes(model)
    several = len(shapes) > 1
    is_list_of_inputs = isinstance(data, list) and several
    if hasattr(data, "shape") or isinstance(data, dict) or is_list_of_inputs:
        batches = _cut(data, batch_size)
    else:
        batches = (b[0] if isinstance(b, tuple) else b for b in _iterate(data))
    for batch in batches:
        batch = _checked(batch)
        _check_features(batch, shapes)
        yield batch


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
        yield keras.tree.map_structure(lambda x: x[start:stop], data)  # noqa: B023


def _input_shapes(model):
    """Shapes that the inputs of a model or layer were built for, if known."""
    if getattr(model, "inputs", None):
        return [tuple(x.shape) for x in model.inputs]
    shapes = (model.get_build_config() if model.built else None) or {}
    shapes = shapes.get("shapes_dict") or shapes
    first = next(iter(shapes.values()), None)
    return [tuple(first)] if isinstance(first, (list, tuple)) else [()]


def _check_features(batch, shapes):
    """Raises unless the arrays have the features that the model expects.

    The other axes are the model's to check: it may have been built on data of
    another length.
    """
    arrays = keras.tree.flatten(batch)
    if len(arrays) != len(shapes):
        return
    for array, shape in zip(arrays, shapes):
        fits = array.ndim == len(shape) and array.shape[-1] == shape[-1]
        if len(shape) > 2 and shape[-1] is not None and not fits:
            sizes = ["batch", *("any" if n is None else n for n in shape[1:])]
            raise checks.bad_value(
                "data",
                f"of shape `({', '.join(map(str, sizes))})` with {shape[-1]} "
                "features",
                array,
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
