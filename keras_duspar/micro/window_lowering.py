"""What layers are in a program that compute from a window of time steps."""

import types

import keras
import numpy as np

from keras_duspar.micro.lowering import array
from keras_duspar.micro.lowering import lowers
from keras_duspar.streaming import layer_rules
from keras_duspar.streaming import window_rules

layers = keras.layers


@lowers(window_rules.LeadingZeros)
def leading_zeros(lowering, rule, x):
    return x  # the window behind has them


def window_of(lowering, rule, x):
    """The last time steps, at a clock that ticks when they are complete."""
    program = lowering.program
    clock = x.clock
    if rule.stride > 1 or rule.before < rule.length - 1:
        clock = program.clock(program.rates[x.clock] / rule.stride)
    if rule.length == rule.stride == 1:
        return x
    steps = program.vector(rule.length * x.size, lasting=True)
    waiting = program.vector(1, lasting=True)
    program.emit(
        *("WINDOW", x.clock, steps, x, x.size, rule.length, waiting),
        *(rule.before, rule.stride, clock),
    )
    return steps.at(clock)


def joined(lowering, parts):
    """Vectors one after the other."""
    program = lowering.program
    result = program.vector(sum(x.size for x in parts), parts[0].clock)
    start = 0
    for x in parts:
        program.emit("COPY", x.clock, result.part(start, x.size), x, x.size)
        start += x.size
    return result


def bias_of(layer):
    return None if layer.bias is None else array(layer.bias)


@lowers(layers.Conv1D)
def convolution(lowering, rule, x):
    layer = rule.layer
    steps, kernel = window_of(lowering, rule, x), array(layer.kernel)
    taps, inputs, outputs = kernel.shape
    bias = bias_of(layer)
    each = outputs // layer.groups
    results = []
    for g in range(layer.groups):
        columns = slice(g * each, (g + 1) * each)
        given = steps
        if layer.groups > 1 or layer.dilation_rate[0] > 1:
            places = np.arange(taps) * layer.dilation_rate[0] * x.size
            parts = [steps.part(p + g * inputs, inputs) for p in places]
            given = joined(lowering, parts)
        results.append(
            lowering.product(
                given,
                kernel[..., columns].reshape(taps * inputs, each),
                None if bias is None else bias[columns],
            )
        )
    y = results[0] if len(results) == 1 else joined(lowering, results)
    return lowering.activation(layer, y, layer.activation)


def depthwise(lowering, rule, x, kernel, dilation=1, bias=None):
    """Products of every channel with weights of its own."""
    program, steps = lowering.program, window_of(lowering, rule, x)
    taps, channels, each = kernel.shape
    program.macs += kernel.size * program.rates[steps.clock]
    bias = np.zeros(channels * each) if bias is None else bias
    return lowering.emit(
        *("DEPTHWISE", steps, channels, taps, dilation * channels),
        *(program.constant(kernel), each, program.constant(bias)),
        size=channels * each,
    )


@lowers(layers.DepthwiseConv1D)
def depthwise_convolution(lowering, rule, x):
    layer = rule.layer
    kernel, dilation = array(layer.kernel), layer.dilation_rate[0]
    y = depthwise(lowering, rule, x, kernel, dilation, bias_of(layer))
    return lowering.activation(layer, y, layer.activation)


@lowers(layers.SeparableConv1D)
def separable_convolution(lowering, rule, x):
    layer = rule.layer
    kernel = array(layer.depthwise_kernel)
    y = depthwise(lowering, rule, x, kernel, layer.dilation_rate[0])
    y = lowering.product(y, array(layer.pointwise_kernel)[0], bias_of(layer))
    return lowering.activation(layer, y, layer.activation)


@lowers(layers.MaxPooling1D)
def max_pooling(lowering, rule, x):
    steps = window_of(lowering, rule, x)
    return lowering.emit("LARGEST", steps, x.size, rule.length, size=x.size)


@lowers(layers.AveragePooling1D)
def average_pooling(lowering, rule, x):
    kernel = np.full((rule.length, x.size, 1), 1 / rule.length)
    return depthwise(lowering, rule, x, kernel)


@lowers(layer_rules.RunningMax)
def max_over_time(lowering, rule, x):
    program = lowering.program
    result = program.vector(x.size, lasting=True)
    seen = program.vector(1, lasting=True)
    program.emit("RUNNING_MAX", x.clock, result, x, x.size, seen)
    return result


@lowers(layers.TimeDistributed)
def time_distributed(lowering, rule, x):
    inner = types.SimpleNamespace(layer=rule.layer.layer)
    return lowering.lower(inner, None, [x])


@lowers(layers.RMSNormalization)
def rms_normalization(lowering, rule, x):
    layer = rule.layer
    values = ([layer.epsilon], array(layer.scale))
    places = map(lowering.program.constant, values)
    return lowering.emit("RMS_NORM", x, x.size, *places)
