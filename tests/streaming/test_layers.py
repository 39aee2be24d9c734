"""Streams of models that users build, and those that cannot be streamed."""

import keras
import numpy as np
import pytest
from keras import layers

import keras_duspar
from keras_duspar import audio
from keras_duspar.streaming import Stream
from keras_duspar.streaming import StreamRule
from keras_duspar.streaming import register_stream
from keras_duspar.streaming import rules
from tests.helpers import assert_close
from tests.helpers import randomize
from tests.helpers import to_numpy


def two_outputs(x):
    """Most of what a model may hold, with shared and nested layers."""
    shared = keras_duspar.DuSpaR(3, return_sequences=True, name="shared")
    x = layers.Dropout(0.5)(layers.LayerNormalization()(x))
    y = shared(shared(x))
    inner_in = keras.Input((None, 3))
    inner_out = layers.GRU(4, return_sequences=True, name="gru")(inner_in)
    inner = keras.Model(inner_in, inner_out, name="inner")
    z = layers.Concatenate()([inner(y), layers.Activation("relu")(x)])
    z = layers.Dense(4, "tanh")(z * 0.5 + 1)
    stack = layers.StackedRNNCells([layers.LSTMCell(3), layers.GRUCell(2)])
    last = layers.RNN(stack, name="stack")(z)
    return {"frames": z, "last": layers.Dense(2)(last)}


def returned_states(x):
    y, h, c = layers.LSTM(3, return_sequences=True, return_state=True)(x)
    return [y, h, c]


def pooled_last(x):
    x = layers.SimpleRNN(3, return_sequences=True)(x)
    x = audio.TemporalPooling(4)(x)
    return layers.RNN(keras_duspar.DuSpaRCell(4))(x)


MODELS = {
    "two_outputs": two_outputs,
    "returned_states": returned_states,
    "pooled_last": pooled_last,
}


@pytest.mark.parametrize("frames", [1, 4])
@pytest.mark.parametrize("name", MODELS)
def test_models_on_features(name, frames, rng):
    inputs = keras.Input((None, 3))
    model = keras.Model(inputs, MODELS[name](inputs))
    randomize(model, 0.4)
    x = rng.normal(size=(2, 10, 3)).astype("float32")
    stream = Stream(model, frames)
    assert stream.samples == frames
    parts = [stream.push(x[:, :7]), stream.push(x[:, 7:]), stream.finish()]
    parts = [keras.tree.flatten(part) for part in parts]
    for i, expected in enumerate(keras.tree.flatten(to_numpy(model(x)))):
        if expected.ndim == 3:
            actual = np.concatenate([part[i] for part in parts], axis=1)
        else:
            actual = parts[-1][i]
        assert_close(actual, expected, 1e-5)


def test_names_of_shared_and_nested_layers():
    inputs = keras.Input((None, 3))
    stream = Stream(keras.Model(inputs, two_outputs(inputs)))
    assert {
        "shared/f",
        "shared.2/g",
        "inner/gru/h",
        "stack/0.h",
        "stack/0.c",
        "stack/1.h",
    } < set(stream.states)


@pytest.mark.parametrize("frames", [1, 4])
def test_frames_within_the_audio_only(frames, rng):
    """With padding "valid" the first frames do not exist."""
    model = keras.Sequential(
        [
            keras.Input((None,)),
            audio.Frames(8, 2),
            keras_duspar.SpaR(3, return_sequences=True),
        ]
    )
    x = rng.normal(size=(1, 31)).astype("float32")
    stream = Stream(model, frames)
    actual = np.concatenate([stream.push(x), stream.finish()], axis=1)
    assert_close(actual, model(x), 1e-5)


def test_own_layer(rng, monkeypatch):
    """A causal difference, with a rule of its own."""
    monkeypatch.setattr(rules, "_RULES", dict(rules._RULES))

    class Difference(layers.Layer):
        def call(self, x):
            return x - keras.ops.pad(x, [[0, 0], [1, 0], [0, 0]])[:, :-1]

    inputs = keras.Input((None, 3))
    model = keras.Model(inputs, Difference(name="difference")(inputs))
    with pytest.raises(ValueError, match="'difference', a Difference"):
        Stream(model)

    @register_stream(Difference)
    class DifferenceRule(StreamRule):
        def __init__(self, layer, signals):
            super().__init__(layer, signals)
            shape = (None, 1, self.signal.features)
            self.states = {"last": keras_duspar.streaming.State(shape)}

        def step(self, states, x):
            joined = keras.ops.concatenate([states["last"], x], axis=1)
            return x - joined[:, :-1], {"last": joined[:, -1:]}

    x = rng.normal(size=(1, 6, 3)).astype("float32")
    stream = Stream(model, frames=4)
    actual = np.concatenate([stream.push(x), stream.finish()], axis=1)
    assert_close(actual, model(x), 1e-6)


def test_rules_for_one_stream():
    class Doubled(StreamRule):
        def step(self, states, x):
            return 2 * self.layer(x), {}

    inputs = keras.Input((None, 3))
    model = keras.Model(inputs, layers.Dense(2)(inputs))
    x = np.ones((1, 1, 3), "float32")
    doubled, _ = Stream(model, rules={layers.Dense: Doubled}).step(x, {})
    plain, _ = Stream(model).step(x, {})
    assert_close(doubled, 2 * to_numpy(plain), 1e-6)


def on_features(make):
    return lambda: keras.Sequential([keras.Input((None, 4)), make()])


def mixed_delays():
    inputs = keras.Input((None,))
    frames = audio.Frames(4, 2, "full")(inputs)
    clean = audio.OverlapAdd(2)(frames, like=inputs)
    return keras.Model(inputs, layers.Add(name="sum")([inputs, clean]))


def causal_overlap_add():
    inputs = keras.Input((None,))
    frames = audio.Frames(4, 2, "causal")(inputs)
    return keras.Model(inputs, audio.OverlapAdd(2)(frames, like=inputs))


def given_state():
    inputs = keras.Input((None, 4))
    _, state = layers.GRU(3, return_state=True)(inputs)
    return keras.Model(inputs, layers.GRU(3)(inputs, initial_state=state))


def two_inputs():
    inputs = [keras.Input((None, 4)), keras.Input((None, 4))]
    return keras.Model(inputs, layers.Add()(inputs))


def mean_by_an_operation():
    inputs = keras.Input((None, 4))
    return keras.Model(inputs, keras.ops.mean(inputs, axis=1))


class Subclassed(keras.Model):
    """With layers in a list, and an option of `call()`."""

    def __init__(self, last=keras.ops.tanh):
        super().__init__()
        self.blocks = [keras_duspar.DuSpaR(5, return_sequences=True, name="a")]
        self.blocks.append(layers.Dense(3))
        self.last = last

    def call(self, x, training=False):
        for block in self.blocks:
            x = block(x)
        return self.last(x)


def built(model):
    model(np.zeros((1, 9, 4), "float32"))
    return model


def test_subclassed_model(rng):
    model = built(Subclassed())
    randomize(model, 0.5)
    x = rng.normal(size=(2, 6, 4)).astype("float32")
    stream = Stream(model)
    assert list(stream.states) == ["a/f", "a/g"]
    actual = np.concatenate([stream.push(x), stream.finish()], axis=1)
    assert_close(actual, model(x), 1e-6)
    randomize(model, 0.5, seed=3)  # new weights are seen
    actual = np.concatenate([stream.push(x), stream.finish()], axis=1)
    assert_close(actual, model(x), 1e-6)


BAD = {
    "convolution that looks ahead": (
        on_features(lambda: layers.Conv1D(2, 3, padding="same", name="conv")),
        "'conv', a Conv1D, looks ahead: .*Use `padding=\"causal\"`",
    ),
    "pool that is filled up": (
        on_features(lambda: layers.MaxPooling1D(2, padding="same")),
        'fills up the last group.*Use `padding="valid"`',
    ),
    "channels first": (
        lambda: keras.Sequential(
            [
                keras.Input((4, 8)),
                layers.AveragePooling1D(2, data_format="channels_first"),
            ]
        ),
        'needs `data_format="channels_last"`',
    ),
    "zeros behind": (
        on_features(lambda: layers.ZeroPadding1D(2)),
        r"behind the last time step.*Use `padding=\(n, 0\)`",
    ),
    "zeros at the end": (
        on_features(lambda: layers.ZeroPadding1D((2, 0))),
        "ends with the zeros",
    ),
    "zeros for no window": (
        lambda: keras.Sequential(
            [
                keras.Input((None, 4)),
                layers.ZeroPadding1D((2, 0)),
                layers.Dense(3, name="dense"),
            ]
        ),
        "'dense', a Dense, reads the zeros.*right before a convolution",
    ),
    "too many zeros": (
        lambda: keras.Sequential(
            [
                keras.Input((None, 4)),
                layers.ZeroPadding1D((3, 0)),
                layers.DepthwiseConv1D(3),
            ]
        ),
        "3 zeros before.*windows of 3 take 2 at most",
    ),
    "bidirectional": (
        on_features(lambda: layers.Bidirectional(layers.GRU(2))),
        "a Bidirectional",
    ),
    "backwards": (
        on_features(lambda: layers.GRU(2, go_backwards=True)),
        "backwards",
    ),
    "norm over time": (
        lambda: keras.Sequential(
            [keras.Input((5, 4)), layers.LayerNormalization(axis=1)]
        ),
        "axis",
    ),
    "no front end": (
        lambda: keras.Sequential([keras.Input((8,)), layers.Dense(2)]),
        "reads audio itself",
    ),
    "mixed delays": (mixed_delays, "'sum', a Add, joins inputs"),
    "causal overlap-add": (causal_overlap_add, 'padding="full"'),
    "given state": (given_state, "initial state"),
    "two inputs": (two_inputs, "one input"),
    "operation": (mean_by_an_operation, "Use a layer"),
    "not built": (Subclassed, "`model` must be built"),
    "not symbolic": (
        lambda: built(Subclassed(lambda x: x * float(keras.ops.max(x)))),
        r"must have a `call\(\)` that runs on.*use layers and `keras.ops`",
    ),
    "no model": (lambda: layers.Dense(2), "`keras.Model`"),
}


@pytest.mark.any_backend
@pytest.mark.parametrize("case", BAD)
def test_models_that_cannot_be_streamed(case):
    make, message = BAD[case]
    model = make()
    with pytest.raises(ValueError, match=message):
        Stream(model)


@pytest.mark.any_backend
def test_bad_arguments():
    inputs = keras.Input((None, 4))
    model = keras.Model(inputs, layers.GRU(2, name="gru")(inputs))
    with pytest.raises(ValueError, match="`frames`"):
        Stream(model, 0)
    stream = Stream(model, 2)
    with pytest.raises(ValueError, match="`batch_size`"):
        stream.initial_state(0)
    state = stream.initial_state()
    with pytest.raises(ValueError, match=r"`state` must have .*gru/h"):
        stream.step(np.zeros((1, 2, 4), "float32"), {})
    for shape in [(1, 2), (1, 2, 3), (1, 0, 4)]:
        with pytest.raises(ValueError, match="`chunk` must be"):
            stream.step(np.zeros(shape, "float32"), state)
    with pytest.raises(ValueError, match="Nothing was pushed"):
        stream.finish()
    stream.push(np.zeros((1, 1, 4)))
    for bad in [np.zeros((2, 1, 4)), np.zeros((1, 4)), np.array([[["a"] * 4]])]:
        with pytest.raises(ValueError, match="`samples` must be"):
            stream.push(bad)
    with pytest.raises(ValueError, match="`layer_class` must be"):
        register_stream("dense")
    with pytest.raises(ValueError, match="`rule` must be"):
        register_stream(layers.Dense)(lambda layer: layer)
