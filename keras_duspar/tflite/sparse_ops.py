"""The cells that have an operator of their own in a `.tflite` file.

The native library runs such an operator and skips the zeros of its operands.
Conversion asks this registry and knows no cell by name.
"""

from dataclasses import dataclass

import numpy as np
from keras import ops

from keras_duspar import checks
from keras_duspar.cells import DuSpaRCell
from keras_duspar.cells import SpaRCell
from keras_duspar.quantization import rounding
from keras_duspar.quantization import running

WEIGHTS = ("float32", "bfloat16", "int8")
VERSION = 1  # of the operators' inputs and options

_SPARSE_OPS = {}


@dataclass(frozen=True)
class SparseOp:
    """An operator that computes all time steps of a recurrent layer.

    Its inputs are the sequences of shape `(batch, timesteps, features)`, the
    states of the cell in their order, the kernels, the biases and, for int8
    kernels, a scale for every column of every kernel; for operands that are
    rounded, a vector of their scales. Its outputs are the sequences and the
    new states.

    Args:
        name: String, the operator's name in the file.
        kernels: List of variables of shape `(inputs, outputs)`.
        biases: List of variables.
        operands: List of pairs of a cell and the name of its operand, in the
            order of the scales. Default: `()`, for cells that are not
            quantised.
    """

    name: str
    kernels: list
    biases: list
    operands: list = ()


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
        "SpaR",
        [cell.gate_kernel, cell.candidate_kernel],
        [cell.gate_bias],
        [(cell, "x")],
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
        first.operands + second.operands,
    )


def encode(kernel, weights, levels=127):
    """A kernel as the file holds it.

    Args:
        kernel: Array of float32, of shape `(inputs, outputs)`.
        weights: One of `WEIGHTS`.
        levels: Integer, the largest integer of int8 weights. Default: 127.

    Returns:
        The array and a list of its scales, which is empty unless `weights`
        is `"int8"`.
    """
    if weights == "float32":
        return kernel, []
    kernel = ops.convert_to_tensor(kernel)
    if weights == "bfloat16":
        rounded = _array(rounding.round_bfloat16(kernel))
        return (rounded.view("uint32") >> 16).astype("uint16").view("int16"), []
    integers, scale = rounding.round_kernel(kernel, levels)
    return _array(integers).astype("int8"), [_array(scale)]


def _array(tensor):
    return np.asarray(ops.convert_to_numpy(tensor), "float32")


def constants(op, cell):
    """What an operator computes with: its constant inputs and their types.

    Args:
        op: The `SparseOp`.
        cell: The cell that it computes.

    Returns:
        A list of arrays; the type of the weights, one of `WEIGHTS`; and the
        type of the operands, one of `scheme.OPERANDS`.
    """
    quantizers = {
        id(kernel): found.quantizer
        for found in running.find_quantized(cell)
        for kernel in found.kernels
    }
    scheme = cell.quantization
    weights, levels = "float32", None
    if scheme is not None:
        weights, levels = scheme.weights, scheme.weight_levels
        if scheme.state_levels:
            raise ValueError(
                "`model` has states of integers, which sparse operators do "
                'not know. Convert it with `ops="builtin"`.'
            )
        if scheme.foreign_operands:
            raise ValueError(
                "`model` rounds operands with a quantizer of another package, "
                "which sparse operators do not know. Convert it with "
                '`ops="builtin"`.'
            )
        if levels or scheme.foreign_weights:
            weights = "int8"
    kernels, scales = [], []
    for kernel in op.kernels:
        value = kernel
        if scheme is not None and scheme.foreign_weights:
            value = quantizers[id(kernel)].rounded_kernel(kernel)
        value = _array(ops.cast(value, "float32"))
        encoded, found = encode(value, weights, levels or 127)
        if scheme is not None and scheme.foreign_weights:
            _check_grid(kernel, value, encoded * found[0])
        kernels.append(encoded)
        scales += found
    biases = [_array(ops.cast(bias, "float32")) for bias in op.biases]
    if scheme is None or not scheme.operand_levels:
        return kernels + biases + scales, weights, "float32"
    if not op.operands:
        raise ValueError(
            f"`model` has a cell {cell.name!r} with operands of integers, and "
            f"its `SparseOp` {op.name!r} does not name its `operands`."
        )
    steps = [owner.quantizer.scale(name) for owner, name in op.operands]
    steps = np.array([_array(step) for step in steps], "float32")
    return kernels + biases + scales + [steps], weights, scheme.operands


def _check_grid(kernel, value, expected):
    if np.abs(value - expected).max() > 1e-3 * np.abs(value).max() / 127:
        raise ValueError(
            f"`model` rounds its weight {kernel.path!r} to something else "
            "than symmetric int8 with a scale for every output channel, which "
            "sparse operators have. Use a quantizer with `num_bits=8, "
            "per_axis=True, symmetric=True, narrow_range=True`."
        )


def decode(kernel, scale=None):
    """The float32 tensor that an encoded kernel stands for, in TensorFlow."""
    import tensorflow as tf  # noqa: PLC0415

    if kernel.dtype == tf.int16:
        bits = tf.bitwise.left_shift(tf.cast(kernel, tf.int32), 16)
        return tf.bitcast(bits, tf.float32)
    kernel = tf.cast(kernel, tf.float32)
    return kernel if scale is None else kernel * scale
