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

    def forward(x, *rest):
        x, *rest = (np.ascontiguousarray(a) for a in (x, *rest))
        states, weights = rest[:count], rest[count:]
        units = states[0].shape[-1]
        sizes = training.describe(options, *x.shape, units)
        y = _empty((*x.shape[:2], units))
        new_states = [_empty(state.shape) for state in states]
        reserve = _empty((training.reserve_size(sizes),))
        occupancies = [_empty((options.metered,))] * told
        meter = (options.width, *occupancies) if told else None
        training.forward(
            sizes, weights, x, states, y, new_states, reserve, meter
        )
        return y, *new_states, *occupancies, reserve

    def backward(x, reserve, dy, *rest):
        x, reserve, dy, *rest = (
            np.ascontiguousarray(a) for a in (x, reserve, dy, *rest)
        )
        new_states, weights = rest[:count], rest[count + told :]
        meter = (options.width, rest[count]) if told else None
        sizes = training.describe(options, *x.shape, dy.shape[-1])
        dx = _empty(x.shape)
        states = [_empty(state.shape) for state in new_states]
        dweights = [_empty(weight.shape) for weight in weights]
        training.backward(
            sizes,
            weights,
            x,
            reserve,
            dy,
            new_states,
            dx,
            states,
            dweights,
            meter,
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
