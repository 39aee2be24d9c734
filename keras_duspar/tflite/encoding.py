"""How the sparse operators of a `.tflite` file hold their weights."""

import numpy as np
from keras import ops

from keras_duspar.layers.walking import quantized_layers
from keras_duspar.rounding import arithmetic

WEIGHTS = ("float32", "bfloat16", "int8")
VERSION = 1  # of the operators' inputs and options


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
        rounded = _array(arithmetic.round_bfloat16(kernel))
        return (rounded.view("uint32") >> 16).astype("uint16").view("int16"), []
    integers, scale = arithmetic.round_kernel(kernel, levels)
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
        for found in quantized_layers(cell).values()
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
