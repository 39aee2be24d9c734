"""What a step of Keras' own layers costs, for those that are counted.

The package's cells state their own cost; this is the table for layers that do
not.
"""

import dataclasses
import functools
import math

import keras

from keras_duspar.cells import Cost
from keras_duspar.cells import Operand
from keras_duspar.cells import RecurrentCell
from keras_duspar.utils import checks

_COSTS = {}


def register_cost(layer_class):
    """Decorator: tells `profile()` the cost of a custom layer.

    Args:
        layer_class: A subclass of `keras.layers.Layer`, or a cell class for
            use in `keras.layers.RNN`. A cell that is a subclass of
            `keras_duspar.RecurrentCell` needs no registration.

    Returns:
        A decorator for a function that takes the built layer and the number
        of features of its output, and returns the `keras_duspar.Cost` of one
        step, that is of one position of the output. All operands must be
        dense.

    Example:

    >>> @keras_duspar.profiling.register_cost(keras.layers.Conv1DTranspose)
    ... def transposed(layer, features):
    ...     length, filters, channels = layer.kernel.shape
    ...     rows = length * channels // layer.strides[0]
    ...     operand = keras_duspar.Operand("x", rows, filters)
    ...     return keras_duspar.Cost((operand,))
    """
    if not (isinstance(layer_class, type)):
        raise checks.bad_value("layer_class", "a class", layer_class)

    def decorate(function):
        _COSTS[layer_class] = function
        return function

    return decorate


def cost_of(layer, features=None):
    """The `Cost` of one step of a layer or cell.

    Args:
        layer: A layer that `is_counted()`, a cell or a stack of cells.
        features: Integer, the number of features of a layer's output.
            Default: `None`, for cells.
    """
    if isinstance(layer, RecurrentCell):
        return layer.cost()
    if isinstance(layer, keras.layers.StackedRNNCells):
        return _stacked([cost_of(cell) for cell in layer.cells])
    layer = _at_each_step(layer)
    for layer_class in type(layer).__mro__:
        if layer_class in _COSTS:
            return _COSTS[layer_class](layer, features)
    raise ValueError(
        f"`model` holds a {type(layer).__name__} in a recurrent layer, whose "
        "cost is not known. Expected a `keras_duspar.RecurrentCell`, a cell "
        "of Keras, or one registered by "
        "`keras_duspar.profiling.register_cost()`."
    )


def _stacked(costs):
    """The `Cost` of cells one after the other, with numbered operands."""
    return Cost(
        operands=tuple(
            dataclasses.replace(operand, name=f"{i}.{operand.name}")
            for i, cost in enumerate(costs)
            for operand in cost.operands
        ),
        biases=sum(cost.biases for cost in costs),
        elementwise=sum(cost.elementwise for cost in costs),
    )


def _at_each_step(layer):
    """The layer that a `TimeDistributed` layer runs at every time step."""
    while isinstance(layer, keras.layers.TimeDistributed):
        layer = layer.layer
    return layer


def is_counted(layer):
    """Whether `cost_of()` knows the layer."""
    layer = _at_each_step(layer)
    return isinstance(layer, RecurrentCell) or any(
        layer_class in _COSTS for layer_class in type(layer).__mro__
    )


def _size(weight):
    return 0 if weight is None else math.prod(weight.shape)


@register_cost(keras.layers.Dense)
def _dense(layer, features):
    rows, columns = layer.kernel.shape
    return Cost((Operand("x", rows, columns),), biases=_size(layer.bias))


@register_cost(keras.layers.EinsumDense)
def _einsum_dense(layer, features):
    """Also the four products of `MultiHeadAttention` with its weights."""
    left, outputs = layer.equation.split("->")
    letters = left.split(",")[1].strip()
    summed = [
        size
        for letter, size in zip(letters, layer.kernel.shape)
        if letter not in outputs
    ]
    biases = 0 if layer.bias is None else features
    return Cost((Operand("x", math.prod(summed), features),), biases=biases)


@register_cost(keras.layers.Conv1D)
@register_cost(keras.layers.Conv2D)
@register_cost(keras.layers.Conv3D)
def _conv(layer, features):
    *receptive, filters = layer.kernel.shape
    operand = Operand("x", math.prod(receptive), filters)
    return Cost((operand,), biases=_size(layer.bias))


@register_cost(keras.layers.DepthwiseConv1D)
@register_cost(keras.layers.DepthwiseConv2D)
def _depthwise_conv(layer, features):
    *receptive, multiplier = layer.kernel.shape
    operand = Operand("x", math.prod(receptive), multiplier)
    return Cost((operand,), biases=_size(layer.bias))


@register_cost(keras.layers.SeparableConv1D)
@register_cost(keras.layers.SeparableConv2D)
def _separable_conv(layer, features):
    *receptive, multiplier = layer.depthwise_kernel.shape
    *_, channels, filters = layer.pointwise_kernel.shape
    depthwise = Operand("depthwise", math.prod(receptive), multiplier)
    pointwise = Operand("pointwise", channels, filters)
    return Cost((depthwise, pointwise), biases=_size(layer.bias))


@register_cost(keras.layers.LayerNormalization)
@register_cost(keras.layers.BatchNormalization)
@register_cost(keras.layers.GroupNormalization)
def _normalization(layer, features):
    # One product with the inverse deviation and one with the scale.
    return Cost(
        biases=_size(layer.beta), elementwise=features + _size(layer.gamma)
    )


@register_cost(keras.layers.RMSNormalization)
def _rms_normalization(layer, features):
    return Cost(elementwise=features + _size(layer.scale))


@register_cost(keras.layers.Multiply)
def _multiply(layer, features):
    return Cost(elementwise=features)


@register_cost(keras.layers.Embedding)
def _embedding(layer, features):
    return Cost()


def _gates(gates, elementwise, cell, features):
    units = cell.units
    return Cost(
        operands=(
            Operand("x", cell.kernel.shape[0], gates * units),
            Operand("h", units, gates * units),
        ),
        biases=_size(cell.bias),
        elementwise=elementwise * units,
    )


register_cost(keras.layers.GRUCell)(functools.partial(_gates, 3, 3))
register_cost(keras.layers.LSTMCell)(functools.partial(_gates, 4, 3))
register_cost(keras.layers.SimpleRNNCell)(functools.partial(_gates, 1, 0))
