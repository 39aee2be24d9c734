"""What the layers that can be streamed are in a program."""

import keras
import numpy as np

from keras_duspar.audio import Frames
from keras_duspar.audio import LogMel
from keras_duspar.audio import SpecAugment
from keras_duspar.audio import TemporalPooling
from keras_duspar.audio.framing import hann
from keras_duspar.micro import cell_lowering
from keras_duspar.micro.lowering import LARGEST
from keras_duspar.micro.lowering import array
from keras_duspar.micro.lowering import lowers
from keras_duspar.quantization import QuantizedDense
from keras_duspar.streaming import layer_rules
from keras_duspar.streaming.graph import NestedModel
from keras_duspar.streaming.sliding_mean import SlidingMean
from keras_duspar.tflite import encoding
from keras_duspar.tflite import front_end

layers = keras.layers


@lowers(NestedModel)
def nested_model(lowering, rule, *inputs):
    return lowering.run(rule.graph, inputs)


@lowers(layer_rules.FrontEnd)
def front(lowering, rule, x):
    program, frames = lowering.program, rule.frames
    if type(rule.layer) not in (Frames, LogMel):
        raise lowering.error(rule.layer, "is not known to the runtime in C")
    length, overlap = frames.frame_length, frames.overlap
    if x == lowering.input:
        frame = x.part(-overlap, length)
    else:
        frame = program.vector(length, lasting=True)
        new = frame.part(overlap, x.size)
        program.emit("COPY", 0, new, x, x.size)
    if overlap:
        lowering.behind("FRAMES_SHIFT", 0, frame, frames.hop_length, overlap)
    if rule.early:
        frame = frame.at(program.clock(1.0))
        seen = program.vector(1, lasting=True)
        early = overlap // frames.hop_length
        program.emit("FRAMES_WAIT", 0, seen, early, frame.clock)
    if rule.layer is frames:
        return frame
    if not front_end.can_be_operator(rule.layer):
        raise lowering.error(
            rule.layer,
            "needs a `frame_length` that is a power of two from "
            f"{front_end.SHORTEST} to {front_end.LONGEST}",
        )
    window, filters, edges, mean, deviation, offset = front_end.constants(
        rule.layer
    )
    return lowering.emit(
        "LOG_MEL",
        frame,
        length,
        len(mean),
        program.vector(length),
        program.constant(window),
        program.constant(_turns(length)),
        program.constant(_places(length), "halves"),
        program.constant(filters),
        program.table(edges),
        program.constant(mean),
        program.constant(1 / deviation),
        program.constant(offset),
        size=len(mean),
    )


def _turns(length):
    """Cosines and sines of the transform's rounds, then of its pairs."""
    size = length // 2
    parts = []
    half = size // 2
    while half > 2:
        parts.append(np.arange(half) / (2 * half))
        half //= 2
    parts.append(np.arange(size // 2 + 1) / length)
    return np.concatenate(
        [f(2 * np.pi * part) for part in parts for f in (np.cos, np.sin)]
    )


def _places(length):
    """Where the transform leaves the power of every bin."""
    size = length // 2
    bits = size.bit_length() - 1
    turned = [int(f"{i:0{bits}b}"[::-1], 2) for i in range(size)]
    return [*turned, size]


@lowers(layer_rules.DelayedOverlapAdd)
def overlap_add(lowering, rule, frame, like=None):
    program, hop = lowering.program, rule.layer.hop_length
    return lowering.emit(
        "OVERLAP_ADD",
        frame,
        frame.size,
        hop,
        program.vector(frame.size, lasting=True),
        program.constant(hann(frame.size)),
        size=hop,
    )


@lowers(TemporalPooling)
def pooling(lowering, rule, x):
    program, steps = lowering.program, rule.layer.pool_size
    if steps == 1:
        return x
    clock = program.clock(program.rates[x.clock] / steps)
    sums = program.vector(x.size, lasting=True)
    count = program.vector(1, lasting=True)
    return lowering.emit(
        "POOL", x, x.size, sums, count, steps, clock, clock=clock
    )


@lowers(layer_rules.RunningMean, SlidingMean)
def mean_over_time(lowering, rule, x):
    program = lowering.program
    result = program.vector(x.size, lasting=True)
    sliding = isinstance(rule, SlidingMean)
    sums = program.vector((1 + sliding) * x.size, lasting=True)
    arguments = [result, x, x.size, sums, program.vector(1, lasting=True)]
    if not sliding:
        program.emit("RUNNING_MEAN", x.clock, *arguments)
        return result
    steps = rule.states["ring"].shape[1] * program.rates[x.clock]
    if steps != int(steps):
        raise lowering.error(
            rule.layer, "needs a `window` of whole groups of the pools before"
        )
    kept = program.vector(int(steps) * x.size, lasting=True)
    program.emit("SLIDING_MEAN", x.clock, *arguments, kept, steps)
    return result


@lowers(layer_rules.Recurrent)
def recurrent(lowering, rule, x):
    layer = rule.layer
    output, states = cell_lowering.recurrent(lowering, layer, x)
    if not layer.return_sequences:
        output = lowering.kept(output)
    return [output, *states] if layer.return_state else output


@lowers(layers.Dense, QuantizedDense)
def dense(lowering, rule, x):
    layer = rule.layer
    kernel, weights, scales = array(layer.kernel), "float32", ()
    scheme = getattr(layer, "quantization", None)
    if scheme is not None:
        weights = scheme.weights
        if scheme.foreign_weights:
            weights, kernel = "float32", array(layer.rounded_kernel())
        elif scheme.weight_levels:
            weights = "int8"
        kernel, scales = encoding.encode(kernel, weights, scheme.weight_levels)
    bias = None if layer.bias is None else array(layer.bias)
    x = lowering.product(x, kernel, bias, weights, scales)
    return lowering.activation(layer, x, layer.activation)


@lowers(layers.LayerNormalization)
def layer_normalization(lowering, rule, x):
    layer = rule.layer
    if getattr(layer, "rms_scaling", False):
        raise lowering.error(layer, "has `rms_scaling`")
    values = [
        np.full(x.size, default) if weight is None else array(weight)
        for weight, default in ((layer.gamma, 1.0), (layer.beta, 0.0))
    ]
    places = map(lowering.program.constant, ([layer.epsilon], *values))
    return lowering.emit("LAYER_NORM", x, x.size, *places)


@lowers(layers.UnitNormalization)
def unit_normalization(lowering, rule, x):
    return lowering.emit("UNIT_NORM", x, x.size)


@lowers(layers.BatchNormalization)
def batch_normalization(lowering, rule, x):
    layer = rule.layer
    scale = 1 / np.sqrt(array(layer.moving_variance) + layer.epsilon)
    if layer.gamma is not None:
        scale = scale * array(layer.gamma)
    offset = -array(layer.moving_mean) * scale
    if layer.beta is not None:
        offset = offset + array(layer.beta)
    return lowering.affine(x, scale, offset)


@lowers(layers.Normalization)
def normalization(lowering, rule, x):
    mean, deviation = array(rule.layer.mean), array(rule.layer.variance) ** 0.5
    if rule.layer.invert:
        return lowering.affine(x, deviation, mean)
    deviation = np.maximum(deviation, keras.config.epsilon())
    return lowering.affine(x, 1 / deviation, -mean / deviation)


@lowers(layers.Rescaling)
def rescaling(lowering, rule, x):
    return lowering.affine(x, rule.layer.scale, rule.layer.offset)


@lowers(layers.Activation)
def activation(lowering, rule, x):
    return lowering.activation(rule.layer, x, rule.layer.activation)


@lowers(layers.Softmax)
def softmax(lowering, rule, x):
    return lowering.function(x, "softmax")


@lowers(layers.ReLU)
def relu(lowering, rule, x):
    layer = rule.layer
    if layer.threshold or layer.negative_slope:
        raise lowering.error(layer, "has a threshold or a slope below zero")
    most = np.inf if layer.max_value is None else layer.max_value
    return lowering.unary(x, "CLIP", 0, min(most, LARGEST))


@lowers(layers.LeakyReLU)
def leaky_relu(lowering, rule, x):
    return lowering.unary(x, "LEAKY_RELU", rule.layer.negative_slope)


@lowers(layers.ELU)
def elu(lowering, rule, x):
    return lowering.unary(x, "ELU", rule.layer.alpha, 1)


@lowers(layers.Concatenate)
def concatenate(lowering, rule, *inputs):
    program = lowering.program
    joined = program.vector(sum(x.size for x in inputs), inputs[0].clock)
    start = 0
    for x in inputs:
        part = joined.part(start, x.size)
        program.emit("COPY", x.clock, part, x, x.size)
        start += x.size
    return joined


def _merging(layer, name):
    @lowers(layer)
    def merge(lowering, rule, first, *others):
        for other in others:
            first = lowering.binary(first, other, name)
        return first

    return merge


for _name in ("Add", "Subtract", "Multiply", "Maximum", "Minimum"):
    _merging(getattr(layers, _name), _name.upper())
_add = _merging(layers.Average, "ADD")


@lowers(layers.Average)
def average(lowering, rule, *inputs):
    return lowering.affine(_add(lowering, rule, *inputs), 1 / len(inputs), 0)


@lowers(
    layers.ActivityRegularization,
    layers.AlphaDropout,
    layers.Dropout,
    layers.GaussianDropout,
    layers.GaussianNoise,
    layers.Identity,
    layers.SpatialDropout1D,
    SpecAugment,
)
def identity(lowering, rule, x):
    return x
