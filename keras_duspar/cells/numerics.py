"""Operations that keep double precision, and states that die away.

Keras falls back to float32 in `ops.tanh` on JAX and torch and in `ops.matmul`
on torch when it is given float64, which would spoil gradient checks.
"""

import keras
from keras import ops

TINY = 2.0**-100


def flush(state):
    """Zero for what is tiny, as the native library has it.

    A state that dies away in silence would come to numbers below the normal
    ones, with which processors are slow, and stay there.
    """
    return ops.where(ops.abs(state) <= TINY, ops.zeros_like(state), state)


def _is_double(x):
    return keras.backend.standardize_dtype(x.dtype) == "float64"


def tanh(x):
    """Hyperbolic tangent in the dtype of `x`."""
    if _is_double(x):
        return 2 * ops.sigmoid(2 * x) - 1
    return ops.tanh(x)


def matmul(x, kernel):
    """Product of vectors and a kernel in the dtype of `x`."""
    if _is_double(x):
        return x @ ops.convert_to_tensor(kernel)
    return ops.matmul(x, kernel)
