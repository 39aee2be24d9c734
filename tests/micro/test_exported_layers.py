"""Layers and operations of Keras in exported C, and which there are not."""

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar import audio
from keras_duspar.streaming import Stream
from tests.helpers import assert_close
from tests.helpers import to_numpy
from tests.kits.tools import run
from tests.micro.compiled import FLAGS
from tests.micro.compiled import compiler
from tests.micro.compiled import export
from tests.micro.compiled import samples_of
from tests.tflite.conftest import make_audio

pytestmark = pytest.mark.any_backend


def in_stream(model, chunk):
    """What a stream in Keras makes of a whole input."""
    return to_numpy(Stream(model).push(chunk))


@keras.saving.register_keras_serializable(package="tests")
class Double(keras.layers.Layer):
    """A layer that streams but has nothing in C."""

    def call(self, x):
        return 2 * x


keras_duspar.streaming.register_stream(Double)(
    keras_duspar.streaming.StreamRule
)


def features_model(*layers, size=6):
    x = inputs = keras.Input((None, size))
    for layer in layers:
        x = layer(x)
    model = keras.Model(inputs, x)
    rng = np.random.default_rng(3)
    for weight in model.weights:
        value = rng.normal(0, 0.6, weight.shape)
        is_positive = "variance" in weight.name
        weight.assign(np.abs(value) + 0.1 if is_positive else value)
    return model


def check_features(model, folder):
    """Every output of a model of features, at the last step of a stream."""
    rng = np.random.default_rng(8)
    x = rng.normal(0, 1, (1, STEPS, 6)).astype("float32")
    compiled = export(model, folder)
    compiled(x, "push_float")
    expected = keras.tree.flatten(in_stream(model, x))
    for i, values in enumerate(expected):
        last = values[0, -1] if values.ndim == 3 else values[0]
        assert_close(compiled.output(i), last, atol=1e-5)


L = keras.layers
STEPS = 24  # whole groups of all pools
ACTIVATIONS = (
    *("relu6", "elu", "silu", "softplus", "softsign", "hard_sigmoid"),
    *("leaky_relu", "exponential", "sigmoid"),
)
LAYERS = {
    "gru": lambda: [L.GRU(5, return_sequences=True)],
    "last": lambda: [L.GRU(5), L.Dense(2)],
    "lstm": lambda: [L.LSTM(4, return_sequences=True)],
    "simple": lambda: [L.SimpleRNN(4, activation="relu")],
    "stack": lambda: [L.RNN([L.GRUCell(3), L.LSTMCell(4)])],
    "mingru": lambda: [keras_duspar.MinGRU(5, return_sequences=True)],
    "ligru": lambda: [keras_duspar.LiGRU(5)],
    "spar": lambda: [keras_duspar.SpaR(5, return_sequences=True)],
    "duspar": lambda: [keras_duspar.DuSpaR(5), L.Dense(3, "softmax")],
    "pools": lambda: [
        keras_duspar.audio.TemporalPooling(3),
        keras_duspar.DuSpaR(4, return_sequences=True),
        keras_duspar.audio.TemporalPooling(2),
        L.Dense(20, "selu", use_bias=False),
    ],
    "mean": lambda: [
        keras_duspar.audio.TemporalPooling(2),
        L.GlobalAveragePooling1D(),
        L.Dense(3, "tanh"),
    ],
    "norms": lambda: [
        L.BatchNormalization(),
        L.LayerNormalization(center=False),
        L.Dense(7),
        L.UnitNormalization(),
        L.Rescaling(3.0, -0.5),
        L.Softmax(),
    ],
    "activations": lambda: [
        layer
        for name in ACTIVATIONS
        for layer in (L.Dense(9), L.Activation(name))
    ],
    "causal": lambda: [
        L.Conv1D(5, 3, padding="causal", dilation_rate=2, activation="relu"),
        L.Conv1D(6, 2, padding="causal", groups=1, use_bias=False),
        L.RMSNormalization(),
        L.ZeroPadding1D((2, 0)),
        L.DepthwiseConv1D(3, depth_multiplier=2),
        L.TimeDistributed(L.Dense(3, "tanh")),
    ],
    "strides": lambda: [
        L.Conv1D(4, 4, strides=2, padding="causal"),
        L.SeparableConv1D(6, 2, dilation_rate=2, activation="elu"),
        L.MaxPooling1D(2),
        L.Conv1D(4, 1, groups=2),
    ],
    "averages": lambda: [
        L.AveragePooling1D(3, strides=1),
        L.MaxPooling1D(2, strides=3),
        L.AveragePooling1D(2),
        L.GlobalMaxPooling1D(),
    ],
    "rectifiers": lambda: [
        *(L.Dense(8), L.ReLU(2.0), L.Dense(8), L.LeakyReLU(0.1)),
        *(L.Dense(8), L.ELU(0.7), L.Dropout(0.3)),
    ],
}


def test_layers_and_operations(tmp_path):
    """All at once, as outputs of one model: compiling takes longest."""
    inner = features_model(L.Dense(4), L.GRU(4, return_sequences=True))
    x = inputs = keras.Input((None, 6))
    a, b = inner(x), L.Dense(4)(x)
    x = L.Concatenate()([L.Add()([a, b]), L.Maximum()([a, b, a])])
    x = L.Average()([x, 2.0 - keras.ops.square(x) * 0.5])
    x = keras.ops.maximum(x / 1.5, -0.3) + keras.ops.exp(-x)
    x = L.Multiply()([x, keras.ops.clip(x, -1.0, 0.5), 1.0 / (x * x + 1.0)])
    outputs = [keras.ops.sqrt(keras.ops.abs(x)) - keras.ops.tanh(x), a]
    for make in LAYERS.values():
        outputs.append(features_model(*make())(inputs))
    check_features(keras.Model(inputs, outputs), tmp_path)


def test_outputs_that_come_seldom(tmp_path):
    """The program that compares waits for them, and keeps the last ones."""
    for name, layers in {
        "late": [audio.TemporalPooling(7), audio.TemporalPooling(9)],
        "between": [L.MaxPooling1D(5)],  # none in the last of 48 hops
    }.items():
        keras_duspar.export_c(
            features_model(*layers), tmp_path, name=name, report=None
        )
        sources = [f"{name}.c", f"{name}_test.c", "-o", name]
        run(compiler(), *FLAGS, *sources, folder=tmp_path)
        assert "passed" in run(f"./{name}", folder=tmp_path)


def test_audio_before_the_front_end_and_without_padding(tmp_path):
    inputs = keras.Input((None,))
    x = L.Rescaling(0.5)(inputs)
    x = keras_duspar.audio.LogMel(20, frame_length=256, hop_length=64)(x)
    model = keras.Model(inputs, keras_duspar.SpaR(5, return_sequences=True)(x))
    integers, floats = samples_of(make_audio(1280, 1)[0])
    compiled = export(model, tmp_path)
    expected = in_stream(model, floats[np.newaxis])[0]
    assert expected.shape == (17, 5)
    assert_close(compiled(integers), expected, atol=1e-5)


@pytest.mark.parametrize(
    "layer, words",
    [
        (lambda: Double(name="own"), "its layer 'own', a Double, is not known"),
        (
            lambda: L.Conv1D(3, 2, padding="causal", activation="gelu"),
            "a Conv1D, has the activation 'gelu'",
        ),
        (
            lambda: L.Dense(3, "gelu", name="d"),
            "its layer 'd', a Dense, has the activation 'gelu'",
        ),
        (
            lambda: keras_duspar.DynamicGRU(3, name="r"),
            "its layer 'r', a DynamicGRU, c",
        ),
    ],
)
def test_what_cannot_be_exported_is_named(tmp_path, layer, words):
    with pytest.raises(ValueError, match=words):
        keras_duspar.export_c(features_model(layer()), tmp_path / "a")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("name", ["SpaR", "DuSpaR"])
def test_silence_after_sound(tmp_path, name, rng):
    """States that die away come to zero, and to no denormal numbers."""
    layer = getattr(keras_duspar, name)(
        5,
        kernel_initializer=keras.initializers.RandomNormal(0, 0.2, seed=3),
        gate_bias_initializer="zeros",
        return_sequences=True,
    )
    inputs = keras.Input((None, 6))
    compiled = export(keras.Model(inputs, layer(inputs)), tmp_path)
    x = np.zeros((420, 6), "float32")
    x[:20] = rng.normal(size=(20, 6))
    sizes = np.abs(compiled(x, "push_float"))
    assert sizes[:20].max() > 0.01 and not sizes[-50:].any()
    assert 2.0**-100 < sizes[sizes > 0].min() < 1e-25
