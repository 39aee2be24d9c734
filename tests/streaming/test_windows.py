"""Convolutions and pools in streams: the outputs of the whole recording."""

import keras
import numpy as np
import pytest
from keras import layers

from keras_duspar import audio
from keras_duspar.streaming import Stream
from tests.helpers import assert_close
from tests.helpers import keyword_layers
from tests.helpers import randomize

# Chunks of steps that each is streamed in; whether shapes stay the same.
WINDOWS = {
    "causal": (lambda: layers.Conv1D(4, 3, padding="causal"), True),
    "causal, dilated": (
        lambda: layers.Conv1D(
            4, 3, dilation_rate=2, padding="causal", activation="relu"
        ),
        True,
    ),
    "causal, stride": (
        lambda: layers.Conv1D(4, 5, 2, padding="causal"),
        False,
    ),
    "groups": (lambda: layers.Conv1D(6, 2, padding="causal", groups=3), True),
    "valid": (lambda: layers.Conv1D(4, 4, name="valid"), False),
    "stride beyond the kernel": (lambda: layers.Conv1D(4, 2, 5), False),
    "every third": (lambda: layers.Conv1D(4, 1, 3), False),
    "pointwise": (lambda: layers.Conv1D(4, 1), True),
    "depthwise": (lambda: layers.DepthwiseConv1D(3), False),
    "separable": (
        lambda: layers.SeparableConv1D(4, 3, depth_multiplier=2, strides=2),
        False,
    ),
    "max": (lambda: layers.MaxPooling1D(3), False),
    "max, overlapping": (lambda: layers.MaxPooling1D(3, 2), False),
    "mean": (lambda: layers.AveragePooling1D(4), False),
    "mean, overlapping": (lambda: layers.AveragePooling1D(3, 1), False),
    "temporal": (lambda: audio.TemporalPooling(3), False),
}


def stream_in_parts(model, x, frames, cuts):
    stream = Stream(model, frames)
    parts = [stream.push(part) for part in np.split(x, cuts, axis=1)]
    parts.append(stream.finish())
    return stream, np.concatenate(parts, axis=1)


@pytest.mark.parametrize("frames", [1, 3])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name, frames, rng):
    make, static = WINDOWS[name]
    model = keras.Sequential([keras.Input((None, 6)), make()])
    randomize(model, 0.5)
    x = rng.normal(size=(2, 17, 6)).astype("float32")
    stream, actual = stream_in_parts(model, x, frames, [4, 5, 13])
    assert_close(actual, model(x), 1e-5)
    if frames == 1:
        assert stream.static == static
    layer = model.layers[0]
    assert getattr(layer, "padding", None) == getattr(make(), "padding", None)


@pytest.mark.parametrize("frames", [1, 4, 6])
def test_a_keyword_model(frames, rng):
    """Causal in every way that Keras has, with normalization and a summary."""
    inputs = keras.Input((None, 6))
    x = keyword_layers(inputs)
    most, mean = layers.GlobalMaxPooling1D, layers.GlobalAveragePooling1D
    outputs = [x, most()(x), mean(keepdims=True)(x)]
    model = keras.Model(inputs, outputs)
    randomize(model, 0.4)
    x = rng.normal(size=(2, 23, 6)).astype("float32")
    stream = Stream(model, frames)
    assert stream.static == (frames == 4)
    parts = [stream.push(x[:, :9]), stream.push(x[:, 9:]), stream.finish()]
    frames, *summaries = model(x)
    assert_close(np.concatenate([p[0] for p in parts], axis=1), frames, 1e-5)
    assert_close(parts[-1][1:], summaries, 1e-5)


def test_zeros_within_a_nested_model(rng):
    inner = keras.Sequential(
        [keras.Input((None, 6)), layers.DepthwiseConv1D(3)], name="inner"
    )
    model = keras.Sequential(
        [keras.Input((None, 6)), layers.ZeroPadding1D((1, 0)), inner]
    )
    randomize(model, 0.5)
    x = rng.normal(size=(1, 9, 6)).astype("float32")
    _, actual = stream_in_parts(model, x, 2, [3])
    assert actual.shape[1] == 8
    assert_close(actual, model(x), 1e-5)
