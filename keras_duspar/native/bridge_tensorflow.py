"""Native training on TensorFlow: a NumPy function with its own gradient."""

import math

import numpy as np
import tensorflow as tf

from keras_duspar.native import training

SUPPORTS_JIT = False


def obstacle(sequences):
    if tf.config.get_visible_devices("GPU"):
        return "TensorFlow sees a GPU"
    if tf.distribute.has_strategy():
        return "`tf.distribute` divides the computation among devices"
    return None


def run(options, sequences, states, weights):
    count, told = len(states), 1 if options.metered else 0

    def forward(*arrays):
        x, *rest = map(np.ascontiguousarray, arrays)
        y, new_states, occupancies, reserve = training.forward(
            options, _empty, x, rest[:count], rest[count:]
        )
        return y, *new_states, *occupancies, reserve

    def backward(*arrays):
        x, reserve, dy, *rest = map(np.ascontiguousarray, arrays)
        split = count + told
        dx, states, dweights = training.backward(
            *(options, _empty, x, reserve, dy),
            *(rest[:count], rest[count:split], rest[split:]),
        )
        return dx, *states, *dweights

    @tf.custom_gradient
    def operation(x, *rest):
        weights = rest[count:]
        y, *results, reserve = tf.numpy_function(
            forward,
            (x, *rest),
            [tf.float32] * (2 + count + told),
            stateful=False,
        )
        y.set_shape((*x.shape[:2], rest[0].shape[-1]))
        for new, old in zip(results[:count], rest):
            new.set_shape(old.shape)
        for occupancies in results[count:]:
            occupancies.set_shape((options.metered,))

        def gradient(dy, *results):
            gradients = _without_gradient(
                len(rest) + 1, backward, x, reserve, dy, *results, *weights
            )
            for value, like in zip(gradients, (x, *rest)):
                value.set_shape(like.shape)
            return gradients

        return (y, *results), gradient

    # Read here: an operation with its own gradient must not meet variables.
    given = (tf.convert_to_tensor(x) for x in (*states, *weights))
    y, *results = operation(sequences, *given)
    return y, results[:count], *results[count:]


def _without_gradient(count, function, *arguments):
    """Calls a NumPy function; TensorFlow would take its gradient for zero."""

    @tf.custom_gradient
    def operation(*arguments):
        results = tf.numpy_function(
            function,
            arguments,
            [tf.float32] * count,
            stateful=False,
        )
        return tuple(results), training.no_second_derivative

    return list(operation(*arguments))


def _empty(shape):
    """An array of the alignment that lets TensorFlow use it without a copy."""
    count, alignment = math.prod(shape), 64
    memory = np.empty(4 * count + alignment, "uint8")
    start = -memory.ctypes.data % alignment
    return memory[start : start + 4 * count].view("float32").reshape(shape)
