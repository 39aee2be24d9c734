"""From the graph of a streaming model to a program.

`layer_lowering.py` has one function per kind of layer, as streams have one
rule; layers that are not there are named in an error.
"""

import keras
import numpy as np
from keras import ops

from keras_duspar.layers import walking
from keras_duspar.micro.program import BINARY
from keras_duspar.micro.program import TILE
from keras_duspar.micro.program import UNARY
from keras_duspar.micro.program import Program
from keras_duspar.quantization.model import check_ranges
from keras_duspar.streaming import Stream
from keras_duspar.streaming import layer_rules
from keras_duspar.tflite import converter
from keras_duspar.tflite import encoding
from keras_duspar.utils import checks

LARGEST = float(np.finfo("float32").max)
_POOLS = {"float32": "floats", "bfloat16": "halves", "int8": "bytes"}
# Activations, and operations of `keras.ops`, as functions of the machine.
_FUNCTIONS = {
    "relu": ("CLIP", 0, LARGEST),
    "relu6": ("CLIP", 0, 6),
    "hardtanh": ("CLIP", -1, 1),
    "elu": ("ELU", 1, 1),
    "selu": ("ELU", 1.6732632423543772, 1.0507009873554805),
    "leakyrelu": ("LEAKY_RELU", 0.2),
    "swish": ("SILU",),
    "exponential": ("EXP",),
}
_LOWER = {}


class Lowering:
    """Makes the program of a model.

    Args:
        model: A `keras.Model` that can be streamed.
        window: Float, seconds of which averages over time are taken, or `None`
            for all since the last reset.

    Attributes:
        stream: Its `keras_duspar.streaming.Stream`.
        program: The `Program`.
        input: The `Vector` that new samples or features are put into.
        outputs: List of the outputs' `Vector`s.
        takes_audio: Boolean, whether the input is samples.
        labels: List of the names of the classes, or `None`.
    """

    def __init__(self, model, window=None):
        self.stream, self.labels = Stream(model, window=window), None
        self.model, self.window = self.stream.model, window
        self.program = program = Program()
        self._end = []  # operations behind all others
        graph = self.stream.graph
        fronts = [
            rule.frames
            for rule in graph.rules()
            if isinstance(rule, layer_rules.FrontEnd)
        ]
        self.takes_audio = bool(fronts)
        if fronts:  # whose frame ends with the new samples
            length, hop = fronts[0].frame_length, fronts[0].hop_length
            frame = program.vector(length, lasting=True)
            self.input = frame.part(length - hop, hop)
        else:
            self.input = program.vector(model.inputs[0].shape[-1])
        self.input.buffer.first = 0
        found = self.run(graph, [self.input])
        self.outputs = []
        for x in found:
            if x.buffer is self.input.buffer:  # which is moved on
                x = self.copied(x)
            self.outputs.append(x)
        for operation in self._end:
            program.emit(*operation)
        program.finish(self.outputs)

    @property
    def hops_per_second(self):
        rate = self.stream.sample_rate
        return rate and rate / self.stream.hop

    @property
    def exact(self):
        """Whether operands stay floats."""
        return not any(
            "PRODUCT_INTEGER" in a for _, _, a in self.program.operations
        )

    def expected(self, hops):
        """What Keras computes of the noise of `runtime/self_test.c`.

        Returns:
            A list of the last values of every output.
        """
        noise, values = 1, []
        for _ in range(hops * self.input.size):
            noise = (noise * 1664525 + 1013904223) % 2**32
            values.append((noise >> 18) - 8192)
        values = np.array(values, "float32")
        if self.takes_audio:
            chunk = values[np.newaxis] / 32768
        else:
            chunk = values.reshape(1, hops, -1) / 8192
        stream = Stream(self.model, window=self.window)
        outputs = keras.tree.flatten(stream.push(chunk))
        return [
            array(x).ravel()[-vector.size :]
            for x, vector in zip(outputs, self.outputs)
        ]

    def run(self, graph, inputs):
        """Lowers all calls of a graph; returns its outputs."""
        known = dict(zip(map(id, keras.tree.flatten(graph.inputs)), inputs))
        for call in graph.calls:
            given = [known[id(x)] for x in tensors((call.args, call.kwargs))]
            results = self.lower(call.rule, call, given)
            known |= zip(map(id, tensors(call.result)), results)
        return [known[id(x)] for x in keras.tree.flatten(graph.outputs)]

    def lower(self, rule, call, inputs):
        """Lowers one call; returns the list of its results."""
        layer = rule.layer
        # A subclass may compute something else.
        for kind in (type(rule), type(layer)):
            if kind in _LOWER:
                result = _LOWER[kind](self, rule, *inputs)
                return result if isinstance(result, list) else [result]
        if not isinstance(layer, keras.layers.Layer):
            return self.operation(layer, call.args, call.kwargs, inputs)
        raise self.error(layer, "is not known to the runtime in C")

    def error(self, layer, reason):
        """The `ValueError` that names a layer."""
        return ValueError(
            f"`model` cannot be exported to C: its layer {layer.name!r}, a "
            f"{type(layer).__name__}, {reason}."
        )

    def behind(self, *operation):
        """Emits an operation behind all others."""
        self._end.append(operation)

    # Operations

    def emit(self, name, x, *arguments, size=None, clock=None):
        """An operation of one vector, whose result is a new one."""
        result = self.program.vector(
            x.size if size is None else size,
            x.clock if clock is None else clock,
        )
        self.program.emit(name, x.clock, result, x, *arguments)
        return result

    def copied(self, x):
        return self.emit("COPY", x, x.size)

    def kept(self, x):
        """A copy that stays as it is until there is a new one."""
        result = self.program.vector(x.size, lasting=True)
        self.program.emit("COPY", x.clock, result, x, x.size)
        return result

    def affine(self, x, scale, offset):
        """`x * scale + offset`, of vectors or numbers."""
        values = (array(v) for v in (scale, offset))
        places = [
            self.program.constant(np.broadcast_to(v.ravel(), (x.size,)))
            for v in values
        ]
        return self.emit("AFFINE", x, x.size, *places)

    def unary(self, x, name, *parameters):
        """A function of `runtime/machine.h` of every entry."""
        values = [*parameters, 0, 0][:2]
        return self.emit(
            "UNARY", x, x.size, name, self.program.constant(values)
        )

    def binary(self, x, y, name):
        return self.emit("BINARY", x, y, x.size, name)

    def activation(self, layer, x, function):
        """An activation, as Keras names it."""
        name = keras.activations.serialize(function)
        if isinstance(name, str):
            result = self.function(x, name)
            if result is not None:
                return result
        raise self.error(layer, f"has the activation {name!r}")

    def function(self, x, name):
        """An activation or operation by name, or `None` if it is unknown."""
        name = name.replace("_", "")
        if name in ("linear", "identity", "cast"):
            return x
        if name == "hardsigmoid":
            return self.unary(self.affine(x, 1 / 6, 0.5), "CLIP", 0, 1)
        if name == "negative":
            return self.affine(x, -1, 0)
        if name == "square":
            return self.binary(x, x, "MULTIPLY")
        if name == "softmax":
            return self.emit("SOFTMAX", x, x.size)
        kind, *parameters = _FUNCTIONS.get(name, (name.upper(),))
        return self.unary(x, kind, *parameters) if kind in UNARY else None

    def product(self, x, kernel, bias=None, weights="float32", scales=()):
        """The product of a vector and a matrix, plus a bias."""
        inputs, outputs = kernel.shape
        place, columns = self.matrix(kernel, weights)
        if bias is None:
            bias = np.zeros(outputs)
        result = self.program.vector(outputs, x.clock)
        self.program.emit(
            "DENSE",
            x.clock,
            place,
            columns,
            f"PRODUCT_{weights.upper()}",
            inputs,
            outputs,
            result,
            x,
            self.program.constant(bias),
            self.program.constant(scales[0]) if len(scales) else 0,
        )
        self.program.macs += inputs * outputs * self.program.rates[x.clock]
        return result

    def matrix(self, kernel, weights):
        """The place of a matrix in its pool, and its columns with padding."""
        inputs, outputs = kernel.shape
        padded = np.pad(kernel, [(0, 0), (0, -outputs % TILE)])
        program = self.program
        program.entries = max(program.entries, inputs)
        program.sums = max(program.sums, inputs, padded.shape[1])
        if weights == "bfloat16":
            padded = padded.view("uint16")
        return program.constant(padded, _POOLS[weights]), padded.shape[1]

    def operation(self, operation, args, kwargs, inputs):
        """An operation of `keras.ops`."""
        name = type(operation).__name__.lower().replace("true", "")
        values = [v for v in (*args, *kwargs.values()) if v is not None]
        if name.upper() in BINARY and len(values) == 2:
            result = self.two(name.upper(), values, inputs)
        elif name == "matmul" and len(inputs) == 1:
            result = self.product(inputs[0], array(values[1]))
        elif name == "split":
            count, x = operation.indices_or_sections, inputs[0]
            size = x.size // count
            return [x.part(i * size, size) for i in range(count)]
        elif name == "getitem":
            start, stop, step = values[1][-1].indices(inputs[0].size)
            return [inputs[0].part(start, stop - start)]
        elif name == "clip":
            low, high = operation.x_min, operation.x_max
            result = self.unary(inputs[0], "CLIP", low, high)
        else:
            result = self.function(inputs[0], name)
        if result is None:
            raise self.error(operation, "is not known to the runtime in C")
        return [result]

    def two(self, name, values, inputs):
        """A function of two vectors, or of one and a constant."""
        if len(inputs) == 2:
            return self.binary(*inputs, name)
        x, first = inputs[0], not isinstance(values[1], keras.KerasTensor)
        value = array(values[1] if first else values[0])
        if name == "ADD":
            return self.affine(x, 1, value)
        if name == "SUBTRACT":
            return self.affine(x, *((1, -value) if first else (-1, value)))
        if name == "MULTIPLY":
            return self.affine(x, value, 0)
        if name == "DIVIDE":
            if first:
                return self.affine(x, 1 / value, 0)
            return self.affine(self.unary(x, "RECIPROCAL"), value, 0)
        if value.size != 1:
            return None
        limits = (value, LARGEST) if name == "MAXIMUM" else (-LARGEST, value)
        return self.unary(x, "CLIP", *map(float, limits))


def tensors(structure):
    """The symbolic tensors of a nested structure."""
    return [
        x
        for x in keras.tree.flatten(structure)
        if isinstance(x, keras.KerasTensor)
    ]


def array(value):
    return np.asarray(ops.convert_to_numpy(value), "float32")


def lower(model, weights="float32", labels=None, window=None, **rounding):
    """The `Lowering` of a model that users gave, rounded as they want it.

    Args:
        model: As the others, an argument of `export_c()`.
    """
    from keras_duspar.micro import layer_lowering  # noqa: F401, PLC0415
    from keras_duspar.micro import window_lowering  # noqa: F401, PLC0415

    checks.choice("weights", weights, encoding.WEIGHTS)
    model = converter.load_model(converter.check_model(model))
    if labels is None:
        labels = getattr(model, "labels", None)
    converter.check_labels(labels, model, None)
    model = converter.round_model(model, weights, **rounding)
    if walking.quantized_layers(model):
        check_ranges(model)
    lowering = Lowering(converter.in_float32(model), window)
    lowering.labels = labels
    return lowering


def lowers(*kinds):
    """Decorator: the function lowers layers of these kinds, or rules."""

    def decorate(function):
        _LOWER.update(dict.fromkeys(kinds, function))
        return function

    return decorate
