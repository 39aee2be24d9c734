"""Rounding with gradients: exact forwards, straight through backwards.

The one definition of the numbers that a quantized model computes with. The
files and the native library hold and compute the same.
"""

from keras import ops


def straight_through(x, rounded):
    """`rounded`, exactly, with the gradient of `x`."""
    # x - x is zero, whereas x + (rounded - x) is not always `rounded`.
    return ops.stop_gradient(rounded) + (x - ops.stop_gradient(x))


def round_integers(x):
    """The nearest integers, halfway cases to the even one."""
    return straight_through(x, ops.round(x))


def scale_of(largest, levels):
    """What an integer stands for if `levels` of them make `largest`.

    Multiplied by the inverse, as compilers may rewrite a division anyway: so
    all of them give the same number.
    """
    return largest * (1.0 / levels)


def channel_scale(kernel, levels):
    """The scale of every output channel: its largest weight is `levels`.

    Args:
        kernel: Tensor of shape `(inputs, outputs)`.
        levels: Integer, the largest integer.
    """
    largest = ops.stop_gradient(ops.max(ops.abs(kernel), axis=0))
    return ops.where(largest > 0, scale_of(largest, levels), 1.0)


def round_kernel(kernel, levels):
    """A kernel as integers, and the scale of every output channel.

    Args:
        kernel: Tensor of shape `(inputs, outputs)`.
        levels: Integer, the largest integer.

    Returns:
        The tensor of integers in `[-levels, levels]`, in the dtype of
        `kernel`, and the tensor of scales.
    """
    scale = channel_scale(kernel, levels)
    return round_integers(kernel / scale), scale


def round_operand(operand, scale, levels, signed=False):
    """A vector as integers.

    Args:
        operand: Tensor.
        scale: Scalar, what an integer stands for.
        levels: Scalar, the largest integer.
        signed: Boolean, whether there are negative integers; if not, numbers
            below zero become zero.

    Returns:
        The tensor of integers, in the dtype of `operand`.
    """
    x = operand * (1.0 / scale)
    x = ops.maximum(x, -levels) if signed else ops.relu(x)
    return round_integers(ops.minimum(x, levels))


def round_bfloat16(x):
    """The nearest numbers that have a bfloat16, halfway cases to the even one.

    XLA would optimize a cast there and back away.
    """
    x = ops.cast(x, "float32")
    bits = ops.view(ops.stop_gradient(x), "int32")
    odd = ops.bitwise_and(ops.right_shift(bits, 16), 1)
    bits = ops.bitwise_and(bits + 0x7FFF + odd, -0x10000)
    return straight_through(x, ops.view(bits, "float32"))


def round_constant(matrix, scheme):
    """A constant matrix, rounded as kernels are, but to not less than 8 bits.

    Args:
        matrix: Array of float32, of shape `(inputs, outputs)`.
        scheme: A `QuantScheme`.

    Returns:
        The array of the numbers that the rounded matrix stands for.
    """
    if scheme.weights == "bfloat16":
        return ops.convert_to_numpy(round_bfloat16(matrix))
    if scheme.weight_levels is None:
        return matrix
    tensor = ops.convert_to_tensor(matrix)
    values, scale = round_kernel(tensor, max(scheme.weight_levels, 127))
    return ops.convert_to_numpy(values * scale)
