"""The operators of a `.tflite` file, and how they hold their weights."""

import numpy as np

from keras_duspar.native.sparse_ops import SparseOp
from keras_duspar.native.sparse_ops import register_sparse_op
from keras_duspar.native.sparse_ops import sparse_op_of

__all__ = ["SparseOp", "decode", "encode", "register_sparse_op", "sparse_op_of"]

WEIGHTS = ("float32", "bfloat16", "int8")
VERSION = 1  # of the operators' inputs and options


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
