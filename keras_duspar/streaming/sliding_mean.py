"""Means over the last seconds of a stream instead of all of it."""

import functools

import keras
from keras import ops

from keras_duspar.streaming.layer_rules import RunningMean
from keras_duspar.streaming.rules import State
from keras_duspar.utils import checks
from keras_duspar.utils.nesting import all_layers


class SlidingMean(RunningMean):
    """The mean over the last calls.

    It keeps a ring of sums, one per call, with the number of time steps
    behind each, and adds them up anew: nothing drifts, and what went wrong in
    a call is forgotten with it.
    """

    def __init__(self, layer, signals, calls):
        super().__init__(layer, signals)
        self.states = {"ring": State((None, calls, self.signal.features + 1))}

    def step(self, states, inputs):
        inputs = ops.cast(inputs, "float32")
        if inputs.shape[1] == 1:  # its own sum
            newest = ops.concatenate(
                [inputs, ops.ones_like(inputs[:, :, :1])], axis=2
            )
        else:
            total = ops.sum(inputs, axis=1)
            steps = ops.cast(ops.shape(inputs)[1], "float32")
            newest = ops.concatenate(
                [total, ops.ones_like(total[:, :1]) * steps], axis=1
            )
            newest = ops.expand_dims(newest, 1)
        ring = ops.concatenate([states["ring"][:, 1:], newest], axis=1)
        sums = ops.sum(ring, axis=1)
        mean = self.mean(sums[:, :-1], sums[:, -1:])
        return self.finish(mean), {"ring": ring}


def sliding_rules(model, frames, window):
    """The rules of a stream whose means are over a window.

    Args:
        model: The model.
        frames: Integer, frames in a chunk.
        window: Float, the window in seconds.

    Returns:
        A dictionary of rules by class of layer, and the seconds of the
        window, which are those of whole chunks.
    """
    window = checks.number("window", window, "(0, inf)")
    layers = list(all_layers(model))
    means = keras.layers.GlobalAveragePooling1D
    if not any(isinstance(layer, means) for layer in layers):
        raise ValueError(
            "`window` needs a model that averages over time, by "
            f"`GlobalAveragePooling1D`. Received: {model.name!r}."
        )
    for layer in layers:
        rate = getattr(layer, "sample_rate", None)
        hop = getattr(layer, "hop_length", None)
        if rate and hop:
            break
    else:
        raise ValueError(
            "`window` needs a model that tells its sample rate, by `LogMel` "
            f"or `Frames`. Received: {model.name!r}."
        )
    chunk = frames * hop / rate
    calls = round(window / chunk)
    if calls < 1:
        raise checks.bad_value(
            "window", f"at least a chunk of {chunk:g} seconds", window
        )
    return {means: functools.partial(SlidingMean, calls=calls)}, calls * chunk
