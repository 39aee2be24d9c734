"""Constant matrices of built-in operators in fewer bytes.

The matrices of a quantized model are rounded already. Those that lie on a
grid are stored as int8 with a scale for every output channel, those that fit
as float16, and an operator `DEQUANTIZE` makes float32 of them, once, when the
file is first run.
"""

import numpy as np
from tensorflow.lite.python import schema_py_generated as schema

_SMALLEST = 256  # entries; less is not worth an operator
_BUILTIN = schema.BuiltinOperator
# Operators whose second input is a matrix, and its axis of output channels.
_AXES = {_BUILTIN.FULLY_CONNECTED: 0, _BUILTIN.BATCH_MATMUL: -1}


def shrink(model, levels=(), half=False):
    """Stores rounded constants of a parsed file in fewer bytes.

    Args:
        model: The `schema.ModelT`, which is changed.
        levels: Sequence of integers, the largest integers of the grids that
            matrices may lie on.
        half: Boolean, whether matrices may be stored as float16.
    """
    for graph in model.subgraphs:
        for index, axis in _matrices(model, graph).items():
            tensor = graph.tensors[index]
            data = model.buffers[tensor.buffer].data
            matrix = np.frombuffer(bytes(data), "float32")
            matrix = matrix.reshape(tensor.shape)
            stored = _on_grid(matrix, axis, levels)
            if stored is None and half:
                stored = _as_half(matrix)
            if stored is not None:
                _replace(model, graph, index, *stored)
    _tidy(model)


def _tidy(model):
    """Removes what no runtime needs."""
    for graph in model.subgraphs:
        named = {int(i) for i in [*graph.inputs, *graph.outputs]}
        for i, tensor in enumerate(graph.tensors):
            if i not in named:
                tensor.name = None
            if model.buffers[tensor.buffer].data is None:
                tensor.buffer = 0  # which has no data
            known = tensor.quantization
            if known is not None and known.scale is None:
                tensor.quantization = None
    kept = {0}
    kept |= {t.buffer for graph in model.subgraphs for t in graph.tensors}
    kept |= {entry.buffer for entry in model.metadata or []}
    places = {old: new for new, old in enumerate(sorted(kept))}
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            tensor.buffer = places[tensor.buffer]
    for entry in model.metadata or []:
        entry.buffer = places[entry.buffer]
    model.buffers = [model.buffers[old] for old in sorted(kept)]


def _matrices(model, graph):
    """Indices of constant matrices, with their axis of output channels."""
    found, others = {}, set()
    for operator in graph.operators:
        code = model.operatorCodes[operator.opcodeIndex]
        builtin = max(code.builtinCode, code.deprecatedBuiltinCode)
        for position, index in enumerate(operator.inputs):
            if index < 0:
                continue
            tensor = graph.tensors[index]
            is_matrix = (
                position == 1
                and builtin in _AXES
                and tensor.type == schema.TensorType.FLOAT32
                and model.buffers[tensor.buffer].data is not None
                and len(tensor.shape) == 2
                and np.prod(tensor.shape) >= _SMALLEST
                and not getattr(operator.builtinOptions, "adjY", False)
            )
            if is_matrix:
                found[int(index)] = _AXES[builtin]
            else:
                others.add(int(index))
    others |= {int(i) for i in [*graph.inputs, *graph.outputs]}
    return {i: axis for i, axis in found.items() if i not in others}


def _on_grid(matrix, axis, levels):
    """Integers, their type and parameters, if the matrix is made of them."""
    largest = np.abs(matrix).max(axis=1 if axis == 0 else 0, keepdims=True)
    for level in levels:
        scale = np.where(largest > 0, largest / level, 1).astype("float32")
        integers = np.round(matrix / scale)
        if np.abs(matrix / scale - integers).max() > 1e-3:
            continue
        parameters = schema.QuantizationParametersT()
        parameters.scale = scale.ravel()
        parameters.zeroPoint = np.zeros(scale.size, "int64")
        parameters.quantizedDimension = axis % 2
        return integers.astype("int8"), schema.TensorType.INT8, parameters
    return None


def _as_half(matrix):
    halves = matrix.astype("float16")
    if np.abs(halves.astype("float32") - matrix).max() > 1e-7:
        return None
    return halves, schema.TensorType.FLOAT16, None


def _replace(model, graph, index, values, kind, parameters):
    """Puts a smaller constant and an operator before the tensor."""
    tensor = graph.tensors[index]
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(values.tobytes(), "uint8")
    constant = schema.TensorT()
    constant.shape, constant.type = tensor.shape, kind
    constant.quantization = parameters
    constant.buffer = len(model.buffers)
    model.buffers.append(buffer)
    tensor.buffer = 0  # which has no data
    graph.tensors.append(constant)
    operator = schema.OperatorT()
    operator.opcodeIndex = _dequantize(model, kind)
    operator.inputs = np.array([len(graph.tensors) - 1], "int32")
    operator.outputs = np.array([index], "int32")
    operator.builtinOptionsType = schema.BuiltinOptions.DequantizeOptions
    operator.builtinOptions = schema.DequantizeOptionsT()
    graph.operators.insert(0, operator)


def _dequantize(model, kind):
    """The index of the operator, which is added if it is not there."""
    # Scales of channels came with version 5, float16 with 3.
    version = 3 if kind == schema.TensorType.FLOAT16 else 5
    for i, code in enumerate(model.operatorCodes):
        if code.builtinCode == _BUILTIN.DEQUANTIZE and code.version == version:
            return i
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = _BUILTIN.DEQUANTIZE
    code.version = version
    model.operatorCodes.append(code)
    return len(model.operatorCodes) - 1
