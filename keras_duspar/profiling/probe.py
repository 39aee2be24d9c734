"""Runs a model on data and counts the MACs of its layers.

The layers carry no statistics. During one forward pass, `call` of every layer
that costs something is replaced by one that also records what passes through
it; a recurrent layer's cell is asked for its operands at every step.
"""

import contextlib
import inspect
import itertools
import warnings
from dataclasses import dataclass

import keras
import numpy as np
from keras import ops

from keras_duspar.cells import Cost
from keras_duspar.layers import loop
from keras_duspar.layers import quantized_loop
from keras_duspar.layers import walking
from keras_duspar.profiling.costs import cost_of
from keras_duspar.profiling.costs import is_counted
from keras_duspar.profiling.report import Uncounted
from keras_duspar.utils.nesting import all_layers
from keras_duspar.utils.nesting import child_layers
from keras_duspar.utils.nesting import walk


@dataclass
class Tap:
    """A layer that is watched, and its name in the profile."""

    name: str
    layer: keras.layers.Layer
    cost: Cost = None
    position: int = -1  # in the order in which layers are first called

    @property
    def recurrent(self):
        return walking.is_recurrent(self.layer)

    @property
    def stride(self):
        """Number of time steps that the layer turns into one."""
        stride = getattr(self.layer, "strides", None)
        stride = stride[0] if isinstance(stride, (tuple, list)) else stride
        return stride if isinstance(stride, int) else 1


def find_taps(model):
    """The layers of a model that cost something or change the step rate.

    Args:
        model: A built `keras.Model` or layer.

    Returns:
        A list of `Tap`, and a list of `Uncounted`, the layers with weight
        matrices whose cost is not known. Of layers within a layer, none of
        which is counted, the outermost is listed.
    """

    def is_left_out(layer):
        return layer is not model and _is_uncounted(layer)

    def stop(layer):
        return _is_tap(layer) or is_left_out(layer)

    taps, uncounted = [], []
    for path, layer in walk(model, stop):
        if _is_tap(layer):
            taps.append(Tap(path, layer))
        elif is_left_out(layer) or _has_matrices(_own_weights(layer)):
            kind, params = type(layer).__name__, layer.count_params()
            uncounted.append(Uncounted(path, kind, params))
    if uncounted:
        warnings.warn(
            "Layers whose cost is not known are not counted: "
            f"{[layer.name for layer in uncounted]}. Tell it by "
            "`keras_duspar.profiling.register_cost()`.",
            stacklevel=3,
        )
    return taps, uncounted


# Layers that change a sequence's length, but not the rate of its steps.
_LENGTHS = (keras.layers.ZeroPadding1D, keras.layers.Cropping1D)


def _is_tap(layer):
    tap = Tap("", layer)
    return (
        tap.recurrent
        or is_counted(layer)
        or tap.stride > 1
        or isinstance(layer, _LENGTHS)
    )


def _is_uncounted(layer):
    """Whether a layer has weight matrices, and nothing in it is counted."""
    return (
        not isinstance(layer, keras.Model)
        and _has_matrices(_weights(layer))
        and not any(_is_tap(inner) for inner in all_layers(layer))
    )


def _own_weights(layer):
    inner = {id(w) for child in child_layers(layer) for w in child.weights}
    return [w for w in _weights(layer) if id(w) not in inner]


def _weights(layer):
    """Weights without statistics, which a frozen layer does not tell apart."""
    return layer.trainable_weights if layer.trainable else layer.weights


def _has_matrices(weights):
    return any(len(weight.shape) > 1 for weight in weights)


class Probe(keras.Model):
    """Calls a model and returns what its layers have multiplied.

    As a model it is compiled by every backend in its own way.
    """

    def __init__(self, model, taps):
        super().__init__(name="probe")
        self.inner = model
        self.taps = taps
        self.positions = itertools.count()

    def call(self, inputs):
        notes = {tap.name: [] for tap in self.taps}
        with contextlib.ExitStack() as stack:
            for tap in self.taps:
                stack.enter_context(
                    _watch(tap, notes[tap.name], self.positions)
                )
            self.inner(inputs, training=False)
        return {
            f"{name}:{i}": note
            for name, calls in notes.items()
            for i, note in enumerate(calls)
        }


@contextlib.contextmanager
def _watch(tap, notes, positions):
    """Notes every call of a layer while the context is open."""
    original = tap.layer.call
    signature = inspect.signature(original)

    def call(*args, **kwargs):
        if tap.position < 0:
            tap.position = next(positions)
        arguments = signature.bind(*args, **kwargs).arguments
        if tap.recurrent:
            note = _note_recurrent(tap, **arguments)
            output = original(*args, **kwargs)
        else:
            output = original(*args, **kwargs)
            inputs = keras.tree.flatten(arguments)[0]
            note = _note_dense(tap, inputs, output)
        notes.append(note)
        return output

    # An instance's attribute hides the method; Layer's own __setattr__ would
    # track it.
    vars(tap.layer)["call"] = call
    try:
        yield
    finally:
        del vars(tap.layer)["call"]


class _Mask(keras.layers.Layer):
    """Reads the mask that Keras has attached to a tensor."""

    supports_masking = True

    def call(self, inputs, mask=None):
        if mask is None:
            return ops.ones(ops.shape(inputs)[:-1], dtype="bool")
        return ops.cast(mask, "bool")


def _note_dense(tap, inputs, output):
    if is_counted(tap.layer):
        tap.cost = cost_of(tap.layer, output.shape[-1])
    note = {}
    if len(inputs.shape) > 2 and len(output.shape) > 2:
        note |= {"length_in": _length(inputs), "length_out": _length(output)}
    if tuple(inputs.shape[:-1]) == tuple(output.shape[:-1]):
        note["valid"] = _Mask(name="mask")(inputs)
    else:
        note["valid"] = ops.ones(ops.shape(output)[:-1], dtype="bool")
    return note


def _length(tensor):
    """Number of time steps, in the shape of an array: `(batch, length)`."""
    return ops.ones(ops.shape(tensor)[:2], dtype="bool")


def _note_recurrent(
    tap, sequences, initial_state=None, mask=None, training=False
):
    layer, cell = tap.layer, tap.layer.cell
    tap.cost = cost_of(cell)
    note = {"valid": _length(sequences)}
    if mask is not None:
        note["valid"] = ops.cast(mask, "bool")
    sparse = [o.name for o in tap.cost.operands if o.sparse]
    if not sparse:
        return note
    if initial_state is None and layer.stateful:
        initial_state = layer.states
    if initial_state is None:
        initial_state = layer.get_initial_state(ops.shape(sequences)[0])
    if not keras.tree.is_nested(initial_state):
        initial_state = [initial_state]
    structure = initial_state
    states = [
        ops.copy(ops.cast(ops.convert_to_tensor(s), sequences.dtype))
        for s in keras.tree.flatten(initial_state)
    ]

    def step(inputs, flat_states):
        states = keras.tree.pack_sequence_as(structure, list(flat_states))
        _, states, operands = walking.cell_step(cell, inputs, states)
        counts = [
            ops.sum(ops.cast(operands[name] != 0, "int32"), axis=-1)
            for name in sparse
        ]
        return ops.stack(counts, axis=-1), keras.tree.flatten(states)

    with quantized_loop.prepared(cell):
        _, counts, _ = loop.run(
            step,
            sequences,
            states,
            output_size=len(sparse),
            mask=mask,
            go_backwards=layer.go_backwards,
            output_dtype="int32",
        )
    note["counts"] = ops.flip(counts, axis=1) if layer.go_backwards else counts
    return note


class Counter:
    """Runs a model on batches and notes what its layers have multiplied.

    Compiled once for a model, it can be used many times.

    Args:
        model: A `keras.Model` or layer that is built.
    """

    def __init__(self, model):
        self.taps, self.uncounted = find_taps(model)
        self._probe = Probe(model, self.taps)

    def run(self, batches):
        """Yields, for each batch, the notes of the calls of every tap.

        They come as a dictionary of tap name to a list of dictionaries of
        NumPy arrays. States of stateful layers are kept as they were.
        """
        stateful = [
            tap.layer.states
            for tap in self.taps
            if getattr(tap.layer, "stateful", False)
        ]
        variables = keras.tree.flatten(stateful)
        kept = [np.array(ops.convert_to_numpy(v)) for v in variables]
        try:
            for batch in batches:
                calls = {tap.name: [] for tap in self.taps}
                notes = self._probe.predict_on_batch(batch)
                for key, note in notes.items():
                    calls[key.rsplit(":", 1)[0]].append(note)
                yield calls
        finally:
            for variable, value in zip(variables, kept):
                variable.assign(value)
