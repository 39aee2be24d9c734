"""Layers that can compute all time steps at once."""

from keras import ops

from keras_duspar.layers import native_loop
from keras_duspar.layers import quantized_loop
from keras_duspar.layers.base import RecurrentLayer


class ParallelLayer(RecurrentLayer):
    """Base class of the layers over a `LinearCell`.

    Args:
        parallel: Boolean, whether to compute all time steps at once by an
            associative scan, in about `log2(timesteps)` passes, instead of
            one after the other. The results are equal up to rounding. It pays
            on parallel hardware; on one or two processor cores the loop is
            faster. On the TensorFlow backend it needs a static number of
            time steps, and without one the loop is used. Default: `False`.
    """

    def __init__(self, *args, parallel=False, **kwargs):
        super().__init__(*args, **kwargs)
        self.parallel = bool(parallel)

    def inner_loop(self, sequences, initial_state, mask, training=False):
        # A scan has no intermediate states that could be rounded.
        scheme = self.cell.quantization
        in_turn = scheme is not None and scheme.state_levels
        if not self.parallel or in_turn or sequences.shape[1] is None:
            return super().inner_loop(sequences, initial_state, mask, training)
        if training:
            native_loop.is_used(self, sequences, mask)  # raises, or declines
        if self.go_backwards:
            sequences = ops.flip(sequences, axis=1)
            mask = None if mask is None else ops.flip(mask, axis=1)
        with quantized_loop.prepared(self.cell, training) as observed:
            operand = self.cell.operand(sequences, training)
            decay, drive = self.cell.coefficients(operand)
            quantized_loop.update(observed)
        if training and self.meter is not None:
            # The margins of such a cell are those of its input.
            counts = self.meter.count(
                sequences, None, (None, None, {"x": operand})
            )
            if mask is not None:
                counts *= ops.cast(ops.expand_dims(mask, -1), counts.dtype)
            self.meter.read_sums(ops.sum(counts, axis=1), sequences, mask)
        if mask is not None:
            valid = ops.expand_dims(ops.cast(mask, "bool"), -1)
            decay = ops.where(valid, decay, ops.ones_like(decay))
            drive = ops.where(valid, drive, ops.zeros_like(drive))
        decays, states = _scan(decay, drive)
        # The scan starts from zero; the initial state decays on its own.
        states = states + decays * ops.expand_dims(initial_state[0], 1)
        states = self.cell.settled(states, training)
        outputs = states
        if mask is not None:
            if not self.zero_output_for_mask:
                # A masked step repeats the last output, which is the state,
                # but there is none before the first valid step.
                seen = ops.cumsum(ops.cast(valid, "int32"), axis=1) > 0
                valid = seen
            outputs = ops.where(valid, states, ops.zeros_like(states))
        return outputs[:, -1], outputs, [states[:, -1]]

    def get_config(self):
        return {**super().get_config(), "parallel": self.parallel}


def _scan(decay, drive):
    """All partial compositions of `s -> decay * s + drive` along axis 1."""

    def compose(first, second):
        return first[0] * second[0], first[1] * second[0] + second[1]

    scanned = ops.associative_scan(compose, (decay, drive), axis=1)
    # TensorFlow forgets the shape when the batch size is not known.
    return [ops.reshape(s, (-1, *drive.shape[1:])) for s in scanned]
