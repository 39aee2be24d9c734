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
    count = len(states)

    def forward(x, *rest):
        x, *rest = (np.ascontiguousarray(a) for a in (x, *rest))
        states, weights = rest[:count], rest[count:]
        units = states[0].shape[-1]
        sizes = training.describe(options, *x.shape, units)
        y = _empty((*x.shape[:2], units))
        new_states = [_empty(state.shape) for state in states]
        reserve = _empty((training.reserve_size(sizes),))
        training.forward(sizes, weights, x, states, y, new_states, reserve)
        return y, *new_states, reserve

    def backward(x, reserve, dy, *rest):
        x, reserve, dy, *rest = (
            np.ascontiguousarray(a) for a in (x, reserve, dy, *rest)
        )
        new_states, weights = rest[:count], rest[count:]
        sizes = training.describe(options, *x.shape, dy.shape[-1])
        dx = _empty(x.shape)
        states = [_empty(state.shape) for state in new_states]
        dweights = [_empty(weight.shape) for weight in weights]
        training.backward(
            sizes, weights, x, reserve, dy, new_states, dx, states, dweights
        )
        return dx, *states, *dweights

    @tf.custom_gradient
    def operation(x, *rest):
        weights = rest[count:]
        y, *new_states, reserve = tf.numpy_function(
            forward, (x, *rest), [tf.float32] * (2 + count), stateful=False
        )
        y.set_shape((*x.shape[:2], rest[0].shape[-1]))
        for new, old in zip(new_states, rest):
            new.set_shape(old.shape)

        def gradient(dy, *new_states):
            gradients = _without_gradient(
                backward, x, reserve, dy, *new_states, *weights
            )
            for value, like in zip(gradients, (x, *rest)):
                value.set_shape(like.shape)
            return gradients

        return (y, *new_states), gradient

    # Read here: an operation with its own gradient must not meet variables.
    given = (tf.convert_to_tensor(x) for x in (*states, *weights))
    y, *new_states = operation(sequences, *given)
    return y, list(new_states)


def _without_gradient(function, *arguments):
    """Calls a NumPy function; TensorFlow would take its gradient for zero."""

    @tf.custom_gradient
    def operation(*arguments):
        results = tf.numpy_function(
            function,
            arguments,
            [tf.float32] * (len(arguments) - 2),
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
