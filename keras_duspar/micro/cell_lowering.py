"""What the cells of recurrent layers are in a program.

A cell with a sparse operator becomes an operation of the machine. One without
is traced: what it computes becomes operations of the program.
"""

import keras
import numpy as np

from keras_duspar import operators
from keras_duspar.layers import walking
from keras_duspar.micro.lowering import tensors
from keras_duspar.native.sparse_ops import sparse_op_of
from keras_duspar.streaming.graph import record
from keras_duspar.tflite import encoding


def recurrent(lowering, layer, x):
    """A time step of a recurrent layer; returns the output and states."""
    cells, structures = [layer.cell], [layer.get_initial_state(1)]
    if isinstance(layer.cell, keras.layers.StackedRNNCells):
        cells, structures = layer.cell.cells, structures[0]
    states = []
    for cell, structure in zip(cells, structures):
        op = sparse_op_of(cell)
        if op is None:
            x, new = traced(lowering, layer, cell, structure, x)
        else:
            x, new = sparse(lowering, layer, cell, op, x)
        states += new
    return x, states


def sparse(lowering, layer, cell, op, x):
    """The cells of a sparse operator; returns the output and states."""
    program = lowering.program
    operator = operators.BY_NAME.get(op.name)
    if operator is None:
        raise lowering.error(layer, f"has an operator {op.name!r} of its own")
    arrays, weights, operands = encoding.constants(op, cell)
    cells = len(operator.operands)
    kernels, rest = arrays[: 2 * cells], arrays[2 * cells :]
    biases, rest = rest[: len(op.biases)], rest[len(op.biases) :]
    gate_biases, offsets = biases[:cells], biases[cells:]
    scales, steps = rest[: 2 * cells], rest[2 * cells :]
    levels = 2 ** int(operands[4:]) - 1 if steps else 0
    kind = "INTEGER" if steps else weights.upper()
    sizes = [kernels[2 * i].shape for i in range(cells)]
    states = [program.vector(m, lasting=True) for _, m in sizes]
    output = program.vector(sizes[0][1], x.clock) if cells > 1 else None
    for i, (inputs, outputs) in enumerate(sizes):
        pair = np.concatenate(kernels[2 * i : 2 * i + 2], axis=1)
        place, columns = lowering.matrix(pair, weights)
        scale, inverse = np.zeros(0, "float32"), 1.0
        if scales:
            scale = np.concatenate(scales[2 * i : 2 * i + 2])
        if steps:
            scale = steps[0][i] * scale
            inverse = np.float32(1) / steps[0][i]
        # The feedforward cell reads the input less the feedback's state,
        # the feedback cell the feedforward's state: both with its offset.
        other = 1 - i if cells > 1 else None
        program.emit(
            "SPARSE_CELL",
            x.clock,
            place,
            columns,
            f"PRODUCT_{kind}",
            inputs,
            outputs,
            states[i],
            x if i == 0 else None,
            None if other is None else states[other],
            program.constant(offsets[other]) if offsets else 0,
            output if i else None,
            program.constant(gate_biases[i]),
            program.constant(scale) if scales else None,
            levels,
            program.constant([inverse]),
            len(program.operands),
        )
        name = operator.operands[i].name
        program.operands.append((layer.name, name, 2 * outputs))
        program.macs += 2 * inputs * outputs * program.rates[x.clock]
    return output or states[0].at(x.clock), states


def traced(lowering, layer, cell, structure, x):
    """A cell as operations; returns the output and states."""
    if walking.quantized_layers(cell):
        raise lowering.error(layer, "is quantized and has no sparse operator")
    symbols = [
        keras.Input(batch_shape=(1, state.shape[-1]))
        for state in keras.tree.flatten(structure)
    ]
    start = keras.Input(batch_shape=(1, x.size))
    nested = keras.tree.pack_sequence_as(structure, symbols)
    try:
        output, new = cell.call(start, nested)
        new = keras.tree.flatten(new)
        calls = record(keras.Model([start, *symbols], [output, *new]))
    except Exception as e:
        raise lowering.error(layer, f"cannot be traced ({e})") from e
    inputs, outputs, calls = calls
    states = [
        lowering.program.vector(s.shape[-1], lasting=True) for s in symbols
    ]
    known = [x, *(state.at(x.clock) for state in states)]
    known = dict(zip(map(id, keras.tree.flatten(inputs)), known))
    for operation, args, kwargs, result in calls:
        given = [known[id(t)] for t in tensors((args, kwargs))]
        try:
            found = lowering.operation(operation, args, kwargs, given)
        except ValueError as e:
            raise lowering.error(
                layer,
                "computes what the runtime in C does not: "
                f"{type(operation).__name__}",
            ) from e
        known |= zip(map(id, tensors(result)), found)
    output, *new = (known[id(t)] for t in keras.tree.flatten(outputs))
    for state, value in zip(states, new):
        lowering.program.emit("COPY", x.clock, state, value, state.size)
    return output, states
