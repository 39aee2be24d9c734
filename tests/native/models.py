"""Small TFLite models, written tensor by tensor.

Made by hand and not by the converter, so that they can also be wrong.
"""

import flatbuffers
import flatbuffers.flexbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from keras_duspar import operators
from tests.native.common import state_widths

TYPES = {
    "float32": schema.TensorType.FLOAT32,
    "float16": schema.TensorType.FLOAT16,
    "int16": schema.TensorType.INT16,
    "int8": schema.TensorType.INT8,
    "int32": schema.TensorType.INT32,
}


def options(**changes):
    """The options of an operator as the converter writes them."""
    values = {
        "tfl_fusable_op": True,
        "version": 1,
        "units": 5,
        "weights": "float32",
        "layer": "recurrent",
    }
    values.update(changes)
    values = {k: v for k, v in values.items() if v is not None}
    return bytes(flatbuffers.flexbuffers.Dumps(values))


class Graph:
    """A model with one subgraph, built up call by call."""

    def __init__(self):
        self.model = schema.ModelT()
        self.model.version = 3
        self.model.description = "made by a test"
        self.model.buffers = [schema.BufferT()]
        self.model.operatorCodes = []
        self.graph = schema.SubGraphT()
        self.graph.tensors = []
        self.graph.operators = []
        self.graph.inputs = []
        self.graph.outputs = []
        self.model.subgraphs = [self.graph]

    def tensor(self, shape, dtype="float32", data=None, signature=None):
        """Adds a tensor, a constant if it has `data`; returns its number."""
        tensor = schema.TensorT()
        tensor.shape = list(shape)
        tensor.shapeSignature = signature
        tensor.type = TYPES[dtype]
        tensor.name = f"tensor{len(self.graph.tensors)}"
        tensor.buffer = 0
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(data, "uint8")
            tensor.buffer = len(self.model.buffers)
            self.model.buffers.append(buffer)
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def constant(self, value):
        """Adds a constant."""
        value = np.ascontiguousarray(value)
        return self.tensor(value.shape, value.dtype.name, value.tobytes())

    def input(self, shape, dtype="float32", signature=None):
        """Adds an input of the model."""
        number = self.tensor(shape, dtype, signature=signature)
        self.graph.inputs.append(number)
        return number

    def custom(self, name, inputs, outputs, op_options):
        """Adds a custom operator."""
        code = schema.OperatorCodeT()
        code.builtinCode = schema.BuiltinOperator.CUSTOM
        code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
        code.customCode = name
        operator = schema.OperatorT()
        operator.opcodeIndex = len(self.model.operatorCodes)
        operator.inputs = list(inputs)
        operator.outputs = list(outputs)
        operator.customOptions = np.frombuffer(op_options, "uint8")
        self.model.operatorCodes.append(code)
        self.graph.operators.append(operator)

    def builtin(self, name, inputs, shape, **fields):
        """Adds an operator that TFLite has; returns its output tensor."""
        code = schema.OperatorCodeT()
        code.builtinCode = getattr(schema.BuiltinOperator, name)
        code.deprecatedBuiltinCode = code.builtinCode
        code.version = fields.pop("version", 1)
        kind = fields.pop("kind", None)
        operator = schema.OperatorT()
        operator.opcodeIndex = len(self.model.operatorCodes)
        operator.inputs = list(inputs)
        operator.outputs = [self.tensor(shape)]
        if kind is not None:
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
            operator.builtinOptions = getattr(schema, f"{kind}T")()
            for field, value in fields.items():
                setattr(operator.builtinOptions, field, value)
        self.model.operatorCodes.append(code)
        self.graph.operators.append(operator)
        return operator.outputs[0]

    def bytes(self, outputs):
        """The model with these outputs, as the content of a file."""
        self.graph.outputs = list(outputs)
        builder = flatbuffers.Builder(4096)
        builder.Finish(self.model.Pack(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())


def add_layer(
    graph,
    op,
    weights,
    x,
    states,
    shapes,
    weight_type,
    name,
    operands=None,
):
    """Adds one layer to a graph; returns its output tensors."""
    operator = operators.BY_NAME[op]
    names = [weight.name for weight in operator.weights]
    if weight_type == "int8":
        names += [weight.scale_name for weight in operator.kernels]
    if operands is not None:
        names.append("operand_scales")
    inputs = [x, *states, *(graph.constant(weights[n]) for n in names)]
    outputs = [graph.tensor(shape) for shape in shapes]
    units = shapes[0][-1]
    graph.custom(
        op,
        inputs,
        outputs,
        options(
            units=units, weights=weight_type, layer=name, operands=operands
        ),
    )
    return outputs


def one_layer(
    op,
    weights,
    features,
    units,
    batch=1,
    steps=4,
    weight_type="float32",
    operands=None,
):
    """A model of one layer, states in and out."""
    graph = Graph()
    x = graph.input((batch, steps, features), signature=[-1, -1, features])
    widths = state_widths(operators.BY_NAME[op], features, units)
    states = [graph.input((batch, w), signature=[-1, w]) for w in widths]
    shapes = [(batch, steps, units), *((batch, w) for w in widths)]
    outputs = add_layer(
        graph,
        op,
        weights,
        x,
        states,
        shapes,
        weight_type,
        "recurrent",
        operands,
    )
    return graph.bytes(outputs)


def stack(weights, features, units, steps=4):
    """A model of DuSpaR layers, one behind the other; only y comes out."""
    graph = Graph()
    x = graph.input((1, steps, features), signature=[1, -1, features])
    for number, layer in enumerate(weights):
        states = [
            graph.constant(np.zeros((1, width), "float32"))
            for width in (units, features)
        ]
        shapes = [(1, steps, units), (1, units), (1, features)]
        x, _, _ = add_layer(
            graph, "DuSpaR", layer, x, states, shapes, "float32", f"l{number}"
        )
        features = units
    return graph.bytes([x])


def two_signatures(weights, features, units, steps=4):
    """A model of two subgraphs with a SpaR layer each, as node 0 of both."""
    graph = Graph()
    subgraphs, signatures = [], []
    for number, layer in enumerate(weights):
        graph.graph = schema.SubGraphT()
        graph.graph.tensors, graph.graph.operators = [], []
        graph.graph.inputs = []
        x = graph.input((1, steps, features))
        state = graph.constant(np.zeros((1, units), "float32"))
        shapes = [(1, steps, units), (1, units)]
        y, _ = add_layer(
            graph, "SpaR", layer, x, [state], shapes, "float32", f"s{number}"
        )
        graph.graph.outputs = [y]
        subgraphs.append(graph.graph)
        signature = schema.SignatureDefT()
        signature.signatureKey = f"s{number}"
        signature.subgraphIndex = number
        signature.inputs, signature.outputs = [], []
        for ends, name, tensor in (
            (signature.inputs, "x", x),
            (signature.outputs, "y", y),
        ):
            end = schema.TensorMapT()
            end.name, end.tensorIndex = name, tensor
            ends.append(end)
        signatures.append(signature)
    graph.model.subgraphs = subgraphs
    graph.model.signatureDefs = signatures
    return graph.bytes([y])
