"""Replaces layers by what TFLite can represent, while a model is traced.

During a trace, `inner_loop` of every recurrent layer is replaced: by one
operator where the cell has one, else by a loop of built-in operators. Keras'
own loop needs a fixed batch size in TFLite. The log-mel front end becomes one
operator, and so does a dense layer over time, for which Keras creates ten.
`TimeDistributed` runs its layer on all time steps at once.
"""

import contextlib

import keras
import tensorflow as tf
from tensorflow.compiler.tf2xla.python import xla

from keras_duspar.layers import loop
from keras_duspar.layers import quantized_loop
from keras_duspar.layers import walking
from keras_duspar.native.sparse_ops import sparse_op_of
from keras_duspar.profiling.costs import cost_of
from keras_duspar.quantization import QuantizedDense
from keras_duspar.streaming.layer_rules import all_steps
from keras_duspar.tflite import encoding
from keras_duspar.tflite import front_end
from keras_duspar.tflite.flatbuffer import FRONT_END
from keras_duspar.utils.nesting import all_layers


class Tracer:
    """Replaces the loops of a model's recurrent layers.

    Args:
        model: The Keras model.
        ops: `"sparse"` or `"builtin"`.
        count: Boolean, whether loops count the non-zero entries of their
            operands.

    Attributes:
        operators: List of the operator's and the layer's name and the number
            of constant inputs, of the sparse operators that were traced.
        counts: Dictionary of layer name to a dictionary of its counters,
            `"steps"` and the sparse operands, as tensors.
    """

    def __init__(self, model, ops, count):
        self._recurrent = walking.recurrent_layers(model)
        self.ops, self.count = ops, count
        self.operators, self.counts = [], {}
        # Values are read here: a trace has none.
        self._constants = {}
        for name, layer in self._recurrent.items():
            op = sparse_op_of(layer.cell)
            if op is not None and ops == "sparse":
                constants = encoding.constants(op, layer.cell)
                self._constants[name] = op, *constants
        self._dense = {
            layer
            for layer in all_layers(model)
            if type(layer) in (keras.layers.Dense, QuantizedDense)
        }
        self._distributed = [
            layer
            for layer in all_layers(model)
            if isinstance(layer, keras.layers.TimeDistributed)
        ]
        self._front_ends = {}
        if self._constants:  # else any runtime runs the file
            self._front_ends = {
                layer: front_end.constants(layer)
                for layer in all_layers(model)
                if front_end.can_be_operator(layer)
            }

    @contextlib.contextmanager
    def replaced_loops(self):
        """A context in which the model's loops are replaced."""
        self.operators, self.counts = [], {}
        with contextlib.ExitStack() as stack:
            for name, layer in self._recurrent.items():
                stack.enter_context(self._replaced_loop(name, layer))
            for layer in self._front_ends:
                stack.enter_context(self._replaced_features(layer))
            for layer in self._dense:
                stack.enter_context(_replaced_product(layer))
            for layer in self._distributed:
                stack.enter_context(_replaced_steps(layer))
            yield self

    def _replaced_loop(self, name, layer):
        def inner_loop(sequences, initial_state, mask, training=False):
            run = self._run_loop
            if name in self._constants:
                run = self._run_operator
            if layer.go_backwards:
                sequences = tf.reverse(sequences, [1])
                mask = None if mask is None else tf.reverse(mask, [1])
            outputs, states = run(name, layer, sequences, initial_state, mask)
            return outputs[:, -1], outputs, states

        return _replaced(layer, inner_loop)

    def _replaced_features(self, layer):
        constants = self._front_ends[layer]

        def compute(audio, *args):
            shape = (audio.shape[0], None, layer.bands)
            if audio.shape[1] is not None:
                frames = layer.frames.cut(audio).shape[1]
                shape = (audio.shape[0], frames, layer.bands)
            found = front_end.compute(layer, audio, *args)
            return tf.ensure_shape(found, shape)

        def features(audio):
            hop = f"i: {layer.frames.hop_length}"
            function = _operator(compute, FRONT_END, layer.name, hop=hop)
            values = [tf.constant(value) for value in constants]
            self.operators.append((FRONT_END, layer.name, len(values)))
            return function(audio, *values)

        return _replaced(layer, features)

    def _run_operator(self, name, layer, sequences, states, mask):
        if mask is not None:
            return self._run_valid(name, layer, sequences, states, mask)
        cell = layer.cell
        op, constants, weights, operands = self._constants[name]
        variables = op.kernels + op.biases
        integers = operands != "float32"

        # What the operator computes; the converter puts the operator in its
        # place.
        def compute(sequences, *args):
            states, args = args[: len(states_)], args[len(states_) :]
            kernels = args[: len(op.kernels)]
            biases = args[len(kernels) : len(variables)]
            scales = args[len(variables) :] or [None] * len(kernels)
            kernels = [
                encoding.decode(kernel, scale)
                for kernel, scale in zip(kernels, scales)
            ]
            mapping = list(zip(variables, [*kernels, *biases]))
            if integers:
                # An argument that is not used would be left out.
                mapping += [
                    (owner.quantizer.ranges[operand], scales[-1][i])
                    for i, (owner, operand) in enumerate(op.operands)
                ]
            with keras.StatelessScope(state_mapping=mapping):
                outputs, states, _ = _loop(cell, sequences, list(states))
            # The converter reads the operator's shapes from here.
            shapes = [(*sequences.shape[:2], cell.units)]
            shapes += [old.shape for old in states_]
            return list(map(tf.ensure_shape, [outputs, *states], shapes))

        states_ = list(states)
        function = _operator(
            compute,
            op.name,
            name,
            units=f"i: {cell.units}",
            weights=f's: "{weights}"',
            # As it is when it is absent.
            **({"operands": f's: "{operands}"'} if integers else {}),
        )
        outputs, *new = function(
            sequences, *states_, *[tf.constant(c) for c in constants]
        )
        self.operators.append((op.name, name, len(constants)))
        return outputs, new

    def _run_valid(self, name, layer, sequences, states, mask):
        """The operator, which knows no masks, on the valid steps alone."""
        if layer.return_state:
            raise ValueError(
                f"`model` masks time steps of its layer {name!r} and needs the "
                "states behind the last one, which a sparse operator does not "
                'have then. Convert it with `ops="builtin"`.'
            )

        def run(sequences, count):
            sequences = sequences[:, : tf.maximum(count, 1)]
            return self._run_operator(name, layer, sequences, states, None)[0]

        outputs = loop.over_valid_steps(
            run, sequences, mask, layer.zero_output_for_mask
        )
        return outputs, states

    def _run_loop(self, name, layer, sequences, states, mask):
        with quantized_loop.prepared(layer.cell):
            outputs, states, counts = _loop(
                layer.cell,
                sequences,
                states,
                mask,
                layer.zero_output_for_mask,
                self.count,
            )
        if self.count:
            total = self.counts.setdefault(name, {})
            for counter, value in counts.items():
                total[counter] = total.get(counter, 0) + value
        return outputs, states


@contextlib.contextmanager
def _replaced(layer, method):
    """A context in which a method of the layer is another function."""
    # An instance's attribute hides the method, untracked.
    vars(layer)[method.__name__] = method
    try:
        yield
    finally:
        del vars(layer)[method.__name__]


def _replaced_product(layer):
    """A context in which a dense layer makes one operator of any shape."""
    original = layer.call

    def call(inputs, *args, **kwargs):
        if len(inputs.shape) != 3 or None not in inputs.shape:
            return original(inputs, *args, **kwargs)
        kernel = layer.kernel
        if isinstance(layer, QuantizedDense):
            kernel = layer.rounded_kernel()
        outputs = tf.matmul(inputs, tf.cast(kernel, inputs.dtype))
        if layer.bias is not None:
            outputs = outputs + tf.cast(layer.bias, outputs.dtype)
        return (
            outputs if layer.activation is None else layer.activation(outputs)
        )

    return _replaced(layer, call)


def _replaced_steps(layer):
    """A context in which `TimeDistributed` needs no loop over time."""

    def call(inputs, training=None, mask=None):
        return all_steps(layer, inputs)

    return _replaced(layer, call)


def _operator(compute, name, layer, **values):
    """A function that the converter replaces by an operator."""
    if len(layer) > 255:
        raise ValueError(
            "`model` must have layers whose names have at most 255 letters to "
            f"be converted to sparse operators. Received: {layer!r}."
        )
    layer = layer.replace("\\", "\\\\")
    values = {
        "tfl_fusable_op": "b: true",
        "version": f"i: {encoding.VERSION}",
        **values,
        "layer": f's: "{layer}"',
    }
    attributes = (
        f'attr {{ key: "{key}" value {{ {value} }} }}'
        for key, value in values.items()
    )
    implements = f'name: "{name}" {" ".join(attributes)}'
    return tf.function(
        compute, experimental_implements=implements, autograph=False
    )


def _loop(
    cell,
    sequences,
    initial_state,
    mask=None,
    zero_output_for_mask=False,
    count=False,
):
    """Runs a cell over time in a loop of built-in operators.

    Args:
        cell: The cell.
        sequences: Tensor of shape `(batch, timesteps, features)`; there may
            be no time steps at all.
        initial_state: Structure of states, as the cell has them.
        mask: Optional boolean tensor of shape `(batch, timesteps)`.
        zero_output_for_mask: Boolean, as in Keras' recurrent layers.
        count: Boolean, whether to count.

    Returns:
        The outputs, the structure of new states, and a dictionary of
        counters, which is empty unless `count` is true.
    """
    structure = initial_state
    states = keras.tree.flatten(initial_state)
    units = walking.output_size(cell, states)
    counters = []
    if count:
        operands = cost_of(cell).operands
        counters = ["steps", *(o.name for o in operands if o.sparse)]
        # Counts go along as one more state.
        batch = tf.shape(sequences)[0]
        states = [tf.zeros((batch, len(counters)), tf.int32), *states]

    def step(inputs, states):
        counts, states = states[: count * 1], states[count * 1 :]
        states = keras.tree.pack_sequence_as(structure, list(states))
        output, states, operands = walking.cell_step(cell, inputs, states)
        for i, total in enumerate(counts):
            new = [
                # Sums of floats, which TFLite Micro has, too: those of one
                # step are exact.
                tf.cast(
                    tf.reduce_sum(tf.cast(operands[name] != 0, "float32"), -1),
                    tf.int32,
                )
                for name in counters[1:]
            ]
            new = [tf.ones_like(total[:, 0]), *new]
            counts[i] = total + tf.stack(new, -1)
        return output, [*counts, *keras.tree.flatten(states)]

    if mask is not None:
        step, sequences, states = loop.with_mask(
            step, sequences, states, mask, units, zero_output_for_mask
        )
    if sequences.shape[1] == 1:
        output, states = step(sequences[:, 0], states)
        outputs = output[:, None]
    else:
        outputs, states = _while(step, sequences, states, units)
    states = states[mask is not None :]
    if count:
        counts, *states = states
        one = counts.shape[0] == 1
        totals = tf.unstack(counts[0] if one else tf.reduce_sum(counts, 0))
        counters = dict(zip(counters, totals))
    return outputs, keras.tree.pack_sequence_as(structure, states), counters


def _while(step, sequences, states, units):
    """The loop itself, time first while it runs."""
    sizes = tf.unstack(tf.shape(sequences))
    batch, length = (
        sizes[i] if sequences.shape[i] is None else sequences.shape[i]
        for i in (0, 1)
    )
    by_time = tf.transpose(sequences, [1, 0, 2])

    def body(t, outputs, states):
        output, states = step(tf.gather(by_time, t), list(states))
        # A built-in operator of TFLite, unlike the lists that TensorFlow's
        # own arrays become when the batch size is not known.
        outputs = xla.dynamic_update_slice(
            outputs, output[None], tf.stack([t, 0, 0])
        )
        return t + 1, outputs, list(states)

    # Where there may be no step at all, the operator that writes one needs
    # room for it.
    room = length if isinstance(length, int) else tf.maximum(length, 1)
    variables = (
        tf.constant(0),
        tf.zeros((room, batch, units), sequences.dtype),
        list(states),
    )
    _, outputs, states = tf.while_loop(
        lambda t, *_: t < length,
        body,
        variables,
        shape_invariants=tf.nest.map_structure(lambda x: x.shape, variables),
    )
    outputs = tf.transpose(outputs[:length], [1, 0, 2])
    outputs.set_shape((*sequences.shape[:2], units))
    return outputs, states
