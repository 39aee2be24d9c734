"""The cells that have an operator of their own in a `.tflite` file.

The native library runs such an operator and skips the zeros of its operands.
Conversion asks this registry and knows no cell by name.
"""

from dataclasses import dataclass

import numpy as np

from keras_duspar import checks
from keras_duspar.cells import DuSpaRCell
from keras_duspar.cells import SpaRCell

WEIGHTS = ("float32", "bfloat16", "int8")
VERSION = 1  # of the operators' inputs and options

_SPARSE_OPS = {}


@dataclass(frozen=True)
class SparseOp:
    """An operator that computes all time steps of a recurrent layer.

    Its inputs are the sequences of shape `(batch, timesteps, features)`, the
    states of the cell in their order, the kernels, the biases and, for int8
    kernels, a scale for every column of every kernel. Its outputs are the
    sequences and the new states.

    Args:
        name: String, the operator's name in the file.
        kernels: List of variables of shape `(inputs, outputs)`.
        biases: List of variables.
    """

    name: str
    kernels: list
    biases: list


def register_sparse_op(cell_class):
    """Decorator: tells `convert()` which operator computes a cell.

    The operator must be known to the library that runs the file. A subclass
    of a registered cell, which may compute something else, is not registered
    with it.

    Args:
        cell_class: A subclass of `keras_duspar.RecurrentCell`.

    Returns:
        A decorator for a function that takes the built cell and returns its
        `SparseOp`.

    Example:

    >>> class MyCell(keras_duspar.SpaRCell):
    ...     pass
    >>> @keras_duspar.tflite.register_sparse_op(MyCell)
    ... def my_cell(cell):
    ...     return keras_duspar.tflite.SparseOp(
    ...         "SpaR",
    ...         [cell.gate_kernel, cell.candidate_kernel],
    ...         [cell.gate_bias])
    """
    if not isinstance(cell_class, type):
        raise checks.bad_value("cell_class", "a class", cell_class)

    def decorate(function):
        _SPARSE_OPS[cell_class] = function
        return function

    return decorate


def sparse_op_of(cell):
    """The `SparseOp` of a built cell, or `None` if it has none."""
    function = _SPARSE_OPS.get(type(cell))
    return function(cell) if function else None


@register_sparse_op(SpaRCell)
def _spar(cell):
    return SparseOp(
        "SpaR", [cell.gate_kernel, cell.candidate_kernel], [cell.gate_bias]
    )


@register_sparse_op(DuSpaRCell)
def _duspar(cell):
    first, second = (_spar(half) for half in (cell.feedforward, cell.feedback))
    return SparseOp(
        "DuSpaR",
        first.kernels + second.kernels,
        first.biases
        + second.biases
        + [cell.feedforward_bias, cell.feedback_bias],
    )


def encode(kernel, weights):
    """A kernel as the file holds it.

    Args:
        kernel: Array of float32, of shape `(inputs, outputs)`.
        weights: One of `WEIGHTS`.

    Returns:
        The array and a list of its scales, which is empty unless `weights`
        is `"int8"`.
    """
    if weights == "float32":
        return kernel, []
    if weights == "bfloat16":
        bits = kernel.view("uint32")
        # To the nearest, and halfway to the even one.
        rounded = bits + 0x7FFF + ((bits >> 16) & 1)
        return (rounded >> 16).astype("uint16").view("int16"), []
    largest = np.abs(kernel).max(axis=0)
    scale = np.where(largest > 0, largest / 127, 1).astype("float32")
    return np.round(kernel / scale).astype("int8"), [scale]


def decode(kernel, scale=None):
    """The float32 tensor that an encoded kernel stands for, in TensorFlow."""
    import tensorflow as tf  # noqa: PLC0415

    if kernel.dtype == tf.int16:
        bits = tf.bitwise.left_shift(tf.cast(kernel, tf.int32), 16)
        return tf.bitcast(bits, tf.float32)
    kernel = tf.cast(kernel, tf.float32)
    return kernel if scale is None else kernel * scale
