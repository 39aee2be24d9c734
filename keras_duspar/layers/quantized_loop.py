"""The loop over time of a layer that is quantized or metered.

Kernels are rounded once, before the loop. In training the largest values of
operands and states, and the sums of occupancies, leave the loop as extra
states, as JAX requires; the ranges and the meter are updated after it.
"""

import contextlib

import keras
from keras import ops

from keras_duspar.layers import loop
from keras_duspar.layers import walking


@contextlib.contextmanager
def prepared(cell, training=False):
    """A context in which the kernels of a cell are rounded once.

    Args:
        cell: A cell, which need not be quantized.
        training: Boolean, whether ranges are observed.

    Yields:
        A list of the quantizers whose ranges are observed.
    """
    cells = list(walking.quantized_layers(cell).values())
    observed = [
        c.quantizer
        for c in cells
        if c.quantizer.ranges and (training or c.quantizer.is_collecting)
    ]
    with contextlib.ExitStack() as stack:
        for found in cells:
            quantizer = found.quantizer
            stack.enter_context(
                quantizer.prepared(
                    found.kernels, training or quantizer in observed
                )
            )
        yield observed


def update(quantizers):
    """Moves the ranges by what was noted since the context began."""
    for quantizer in quantizers:
        quantizer.update(quantizer.take_maxima())


def run(layer, inner_loop, sequences, initial_state, mask, training):
    """The `inner_loop()` of a layer that may be quantized or metered.

    Args:
        layer: The `keras.layers.RNN`.
        inner_loop: Callable, the loop of a layer that is not quantized.
        sequences: As the others, an argument of its `inner_loop()`.
    """
    meter = getattr(layer, "meter", None) if training else None
    with prepared(layer.cell, training) as observed:
        if not observed and meter is None:
            return inner_loop(sequences, initial_state, mask, training)
        names = [(q, name) for q in observed for name in q.ranges]

        def step(inputs, states):
            notes, states = states[: len(start)], states[len(start) :]
            before = keras.tree.pack_sequence_as(initial_state, list(states))
            if meter is None:
                output, states = layer.cell(inputs, before, training=training)
                new_notes = []
            else:
                results = layer.cell.advance(inputs, before, training)
                output, states, _ = results
                counts = meter.count(inputs, before, results)
                new_notes = [notes[-1] + counts]
            if observed:
                taken = {id(q): q.take_maxima() for q in observed}
                new = [taken[id(q)][name] for q, name in names]
                maxima = ops.maximum(notes[0], ops.stack(new, axis=-1))
                new_notes.insert(0, maxima)
            return output, [*new_notes, *keras.tree.flatten(states)]

        batch = ops.shape(sequences)[0]
        start = [ops.zeros((batch, len(names)))] if observed else []
        if meter is not None:
            shape = (batch, len(meter.shares))
            start.append(ops.zeros(shape, dtype=meter.dtype))
        states = keras.tree.flatten(initial_state)
        if layer.stateful:
            # The state variables are overwritten before gradients are taken.
            states = [ops.copy(state) for state in states]
        last_output, outputs, results = loop.run(
            step,
            sequences,
            [*start, *states],
            output_size=walking.output_size(layer.cell, states),
            mask=mask,
            zero_output_for_mask=layer.zero_output_for_mask,
            return_sequences=layer.return_sequences,
            go_backwards=layer.go_backwards,
            unroll=layer.unroll,
        )
        notes, states = results[: len(start)], results[len(start) :]
        if meter is not None:
            meter.read_sums(notes[-1], sequences, mask)
        if observed:
            largest = ops.max(notes[0], axis=0)
        for i, (quantizer, name) in enumerate(names):
            quantizer.update({name: largest[i]})
    states = keras.tree.pack_sequence_as(initial_state, states)
    return last_output, outputs, states


@keras.saving.register_keras_serializable(package="keras_duspar")
class QuantizedRNN(keras.layers.RNN):
    """`keras.layers.RNN` over cells of this package that are quantized.

    `keras_duspar.quantize()` replaces `keras.layers.RNN` by it.
    """

    def inner_loop(self, sequences, initial_state, mask, training=False):
        given = (sequences, initial_state, mask, training)
        return run(self, super().inner_loop, *given)
