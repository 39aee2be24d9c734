"""Finding recurrent and quantized layers in a model, and stepping a cell.

Profiling, quantization, streaming and conversion all ask here, so that they
find the same layers under the same names. Cells of Keras and stacks of cells
are stepped like the package's own.
"""

import keras

from keras_duspar.cells.base import RecurrentCell
from keras_duspar.utils.nesting import walk


def is_recurrent(layer):
    """Whether a layer runs a cell over time."""
    return isinstance(layer, keras.layers.RNN)


def recurrent_layers(model):
    """Dictionary of path to recurrent layer, at any depth of a model."""
    return {
        path: layer
        for path, layer in walk(model, stop=is_recurrent)
        if is_recurrent(layer)
    }


def quantized_layers(layer):
    """Dictionary of path to the layers and cells that round."""
    return {
        path: found
        for path, found in walk(layer)
        if getattr(found, "quantizer", None) is not None
    }


def cell_step(cell, inputs, states):
    """One step of a cell in inference.

    Args:
        cell: A cell of this package or of Keras, or a stack of cells.
        inputs: Tensor of shape `(batch, features)`.
        states: The cell's states, in its own structure.

    Returns:
        The output, the new states and a dictionary of the operands. Those of
        a stack are numbered: `"0.e"`. Keras' own cells tell none.
    """
    if isinstance(cell, RecurrentCell):
        return cell.advance(inputs, states)
    if not isinstance(cell, keras.layers.StackedRNNCells):
        return *cell(inputs, states), {}
    new_states, operands = [], {}
    for i, (inner, state) in enumerate(zip(cell.cells, states)):
        inputs, state, inner_operands = cell_step(inner, inputs, state)
        new_states.append(state)
        operands |= {f"{i}.{k}": v for k, v in inner_operands.items()}
    return inputs, new_states, operands


def output_size(cell, states):
    """Width of a cell's output.

    Args:
        cell: The cell.
        states: Flat list of its states, for cells that do not tell: their
            output is as wide as the first state.
    """
    return getattr(cell, "output_size", None) or states[0].shape[-1]


def state_names(cell, count):
    """Readable names of the `count` states of a cell."""
    if isinstance(cell, keras.layers.StackedRNNCells):
        names = []
        for i, inner in enumerate(cell.cells):
            sizes = keras.tree.flatten(inner.state_size)
            names += [f"{i}.{n}" for n in state_names(inner, len(sizes))]
        return names
    if hasattr(cell, "state_names"):
        return list(cell.state_names)
    if count <= 2:
        return ["h", "c"][:count]  # as in Keras' own cells
    return [f"state_{i}" for i in range(count)]
