"""Native training on TensorFlow: a NumPy function with its own gradient."""

import math

import numpy as np
import tensorflow as tf

from keras_duspar.native import training

# Whether the operation can be part of what XLA or `torch.compile` compiles.
SUPPORTS_JIT = False


def obstacle(sequences):
    """What stands against native training here, or `None`."""
    if tf.config.get_visible_devices("GPU"):
        return "TensorFlow sees a GPU"
    if tf.distribute.has_strategy():
        return "`tf.distribute` divides the computation among devices"
    return None


def run(options, sequences, states, weights):
    """Runs a layer over sequences; its gradients come from the library.

    Args:
        options: `Options`.
        sequences: A tensor of shape `(batch, steps, features)`.
        states: List of the initial states.
        weights: List of the weights, kernels first.

    Returns:
        The outputs of all steps and the list of final states.
    """
    count = len(states)

    def forward(x, *rest):
        arrays = [np.ascontiguousarray(a) for a in (x, *rest)]
        x, states, weights = (
            arrays[0],
            arrays[1 : count + 1],
            arrays[1 + count :],
        )
        units = states[0].shape[-1]
        sizes = training.describe(options, *x.shape, units)
        y = _empty((*x.shape[:2], units))
        new_states = [_empty(state.shape) for state in states]
        reserve = _empty((training.reserve_size(sizes),))
        training.forward(
            sizes,
            _addresses(weights),
            x.ctypes.data,
            _addresses(states),
            y.ctypes.data,
            _addresses(new_states),
            reserve.ctypes.data,
        )
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
            sizes,
            _addresses(weights),
            x.ctypes.data,
            reserve.ctypes.data,
            dy.ctypes.data,
            _addresses(new_states),
            dx.ctypes.data,
            _addresses(states),
            _addresses(dweights),
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

        def gradient(*_):
            raise NotImplementedError(
                "Native training has no second derivatives. Give the layer "
                "`implementation='keras'`."
            )

        return tuple(results), gradient

    return list(operation(*arguments))


def _empty(shape):
    """An array of the alignment that lets TensorFlow use it without a copy."""
    count, alignment = math.prod(shape), 64
    memory = np.empty(4 * count + alignment, "uint8")
    start = -memory.ctypes.data % alignment
    return memory[start : start + 4 * count].view("float32").reshape(shape)


def _addresses(arrays):
    return [array.ctypes.data for array in arrays]
