"""The rules of the layers that look back in time."""

import dataclasses

import keras
import numpy as np
from keras import ops

from keras_duspar.audio import Frames
from keras_duspar.audio import LogMel
from keras_duspar.audio import OverlapAdd
from keras_duspar.audio import SpecAugment
from keras_duspar.layers import walking
from keras_duspar.streaming import window_rules  # noqa: F401 - registered
from keras_duspar.streaming.rules import State
from keras_duspar.streaming.rules import StreamRule
from keras_duspar.streaming.rules import register_stream

register_stream(SpecAugment)(StreamRule)

_CONVOLUTIONAL = (
    keras.layers.ConvLSTM1D,
    keras.layers.ConvLSTM2D,
    keras.layers.ConvLSTM3D,
)


@register_stream(Frames)
@register_stream(LogMel)
class FrontEnd(StreamRule):
    """Cuts audio into frames: keeps the start of the next frame."""

    def __init__(self, layer, signals):
        self.layer = layer
        self.signal = signals[0]
        if self.signal.kind != "audio" or self.signal.delay:
            raise self.error("must read the model's input")
        # The layer that knows the frames' lengths.
        self.frames = layer.frames if isinstance(layer, LogMel) else layer
        overlap = self.frames.overlap
        self.states = {"history": State((None, overlap))} if overlap else {}
        # With padding "valid" there are no frames that begin before the
        # audio: these are dropped until enough hops were seen.
        self.early = self.frames.padding == "valid" and overlap > 0
        if self.early:
            self.states["seen"] = State((), "int32")
        self.signal = dataclasses.replace(
            self.signal,
            kind="frames",
            steps=None if self.early else self.signal.steps,
        )

    def step(self, states, audio):
        audio = ops.cast(audio, self.layer.compute_dtype)
        new = {}
        if "history" in states:
            audio = ops.concatenate([states["history"], audio], axis=1)
            new["history"] = audio[:, -self.frames.overlap :]
        plain = self.layer is self.frames
        features = (self.layer.cut if plain else self.layer.features)(audio)
        if self.early:
            early = self.frames.overlap // self.frames.hop_length
            missing = ops.maximum(early - states["seen"], 0)
            count = ops.shape(features)[1]
            features = features[:, ops.minimum(missing, count) :]
            # Stops where it no longer matters, so that it cannot overflow.
            new["seen"] = ops.minimum(states["seen"] + count, early)
        return features, new


@register_stream(OverlapAdd)
class DelayedOverlapAdd(StreamRule):
    """Returns samples once the last frame that covers them has arrived."""

    def __init__(self, layer, signals):
        super().__init__(layer, signals[:1])
        if self.signal.kind != "frames":
            raise self.error("must read frames")
        self.overlap = self.signal.features - layer.hop_length
        shape = (None, self.overlap // layer.hop_length, layer.hop_length)
        self.states = {"tail": State(shape, layer.compute_dtype)}
        self.signal = dataclasses.replace(
            self.signal,
            kind="audio",
            delay=self.overlap,
            cut=len(signals) > 1,
        )

    def step(self, states, frames, like=None):
        frames = ops.cast(frames, self.layer.compute_dtype)
        hops = self.layer.add(frames)
        tail = states["tail"]
        kept = tail.shape[1]
        batch, count, _ = ops.shape(frames)
        hop = self.layer.hop_length
        if frames.shape[1] == 1 and kept == 1:  # takes fewer operators
            audio = ops.reshape(hops[:, :1] + tail, (batch, hop))
            return audio, {"tail": hops[:, 1:]}
        hops = ops.concatenate([hops[:, :kept] + tail, hops[:, kept:]], axis=1)
        audio = ops.reshape(hops[:, :count], (batch, count * hop))
        tail = ops.reshape(hops[:, count:], (batch, kept, hop))
        return audio, {"tail": tail}


@register_stream(keras.layers.TimeDistributed)
class AllSteps(StreamRule):
    """Runs the inner layer on all time steps at once, of which may be none."""

    def step(self, states, inputs):
        return all_steps(self.layer, inputs), {}


def all_steps(layer, inputs):
    """What a `TimeDistributed` layer computes, without a loop over time."""
    batch, steps, *sizes = ops.shape(inputs)
    outputs = layer.layer(ops.reshape(inputs, (-1, *sizes)))
    return ops.reshape(outputs, (batch, steps, *outputs.shape[1:]))


class Running(StreamRule):
    """A layer that makes one vector of everything up to now."""

    def __init__(self, layer, signals):
        super().__init__(layer, signals)
        if layer.data_format != "channels_last":
            raise self.error("does not pool over the second axis")
        self.states = {
            "sum": State((None, self.signal.features)),
            "count": State((None, 1)),
        }
        self.signal = dataclasses.replace(
            self.signal, kind="summary", steps=None
        )

    def step(self, states, inputs):
        steps = ops.cast(ops.shape(inputs)[1], "float32")
        count = states["count"] + steps
        value, new = self.add(states, ops.cast(inputs, "float32"), count)
        return self.finish(value), {**new, "count": count}

    def finish(self, value):
        """The layer's output for what was pooled."""
        value = ops.cast(value, self.layer.compute_dtype)
        return ops.expand_dims(value, 1) if self.layer.keepdims else value


@register_stream(keras.layers.GlobalAveragePooling1D)
class RunningMean(Running):
    """The mean over everything up to now."""

    def add(self, states, inputs, count):
        total = states["sum"] + ops.sum(inputs, axis=1)
        return self.mean(total, count), {"sum": total}

    def mean(self, total, count):
        return total / ops.maximum(count, 1.0)


@register_stream(keras.layers.GlobalMaxPooling1D)
class RunningMax(Running):
    """The largest of everything up to now, zero before the first step."""

    def __init__(self, layer, signals):
        super().__init__(layer, signals)
        self.states["max"] = self.states.pop("sum")

    def add(self, states, inputs, count):
        # The zeros of the start are none of the numbers.
        known = ops.where(states["count"] > 0, states["max"], -np.inf)
        known = ops.expand_dims(known, 1)
        most = ops.max(ops.concatenate([known, inputs], axis=1), axis=1)
        most = ops.where(count > 0, most, ops.zeros_like(most))
        return most, {"max": most}


@register_stream(keras.layers.RNN)
class Recurrent(StreamRule):
    """The rule of recurrent layers: continues from the previous states.

    A subclass may override `run()`, to run the same layer in another way.

    Args:
        layer: A `keras.layers.RNN`.
        signals: List of the `Signal` of its input.
    """

    def __init__(self, layer, signals):
        super().__init__(layer, signals[:1])
        if len(signals) > 1:
            raise self.error("takes its initial state from the model")
        if isinstance(layer, _CONVOLUTIONAL):
            raise self.error("has states that are no vectors")
        if layer.go_backwards:
            raise self.error("reads its input backwards")
        self.structure = layer.get_initial_state(1)
        flat = keras.tree.flatten(self.structure)
        dtype = layer.compute_dtype
        self.states = {
            name: State((None, state.shape[1]), dtype)
            for name, state in zip(
                walking.state_names(layer.cell, len(flat)), flat
            )
        }
        self.units = walking.output_size(layer.cell, flat)
        summary = dataclasses.replace(self.signal, kind="summary", steps=None)
        if not layer.return_sequences:
            # A call may bring no steps at all: then the output is kept.
            self.states["output"] = State((None, self.units), dtype)
            self.signal = summary
        if layer.return_state:
            self.signal = [self.signal, *(summary for _ in self.structure)]

    def step(self, states, sequences):
        sequences = ops.cast(sequences, self.layer.compute_dtype)
        names = [name for name in states if name != "output"]
        values = [states[name] for name in names]
        kept = states.get("output")
        output, *values = self._run_any(sequences, values, kept)
        new = dict(zip(names, values))
        if "output" in states:
            new["output"] = output
        if self.layer.return_state:
            nested = keras.tree.pack_sequence_as(self.structure, values)
            return [output, *nested], new
        return output, new

    def _run_any(self, sequences, values, kept):
        """As `run()`, also over no time steps; `kept` is the last output."""

        def skip():
            if kept is not None:
                return [kept, *values]
            shape = (ops.shape(sequences)[0], 0, self.units)
            return [ops.zeros(shape, dtype=sequences.dtype), *values]

        steps = sequences.shape[1]
        if steps is not None:
            return self.run(sequences, values) if steps else skip()
        some = ops.shape(sequences)[1] > 0
        return ops.cond(some, lambda: self.run(sequences, values), skip)

    def run(self, sequences, values):
        """Runs the layer over one time step or more.

        Args:
            sequences: A 3D tensor, with shape `(batch, timesteps, features)`.
            values: List of the states, each of shape `(batch, size)`.

        Returns:
            A list of the output, as the layer returns it, and the new states.
        """
        states = keras.tree.pack_sequence_as(self.structure, values)
        if sequences.shape[1] == 1:  # no loop
            output, states = self.layer.cell(sequences[:, 0], states)
            if self.layer.return_sequences:
                output = ops.expand_dims(output, 1)
        else:
            last_output, outputs, states = self.layer.inner_loop(
                sequences, states, mask=None, training=False
            )
            output = outputs if self.layer.return_sequences else last_output
        return [
            ops.cast(x, self.layer.compute_dtype)
            for x in [output, *keras.tree.flatten(states)]
        ]
