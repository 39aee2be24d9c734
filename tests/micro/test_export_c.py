"""Models in C compute what they compute in Keras and in TFLite."""

import ctypes
import os
import pathlib
import re
import subprocess

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar import tflite
from keras_duspar.cli import main
from keras_duspar.streaming import Detector
from keras_duspar.streaming import Event
from keras_duspar.streaming import Stream
from keras_duspar.utils.audio_files import read_mono
from tests.conftest import ROOT
from tests.helpers import assert_close
from tests.helpers import skip_unless_deployable
from tests.helpers import to_numpy
from tests.kits.comparison import kept_file
from tests.kits.tools import program
from tests.kits.tools import run
from tests.micro.compiled import FLAGS
from tests.micro.compiled import compiler
from tests.micro.compiled import export
from tests.micro.compiled import make_model
from tests.micro.compiled import samples_of
from tests.streaming import shared_events
from tests.tflite.conftest import make_audio

DATA = ROOT.parent / "shared/data"
pytestmark = pytest.mark.any_backend


def recordings():
    """Noise, and speech where there is some, as audio of 16 bits."""
    found = [make_audio(8192, 1)[0]]
    folder = pathlib.Path(os.environ.get("KERAS_DUSPAR_DATA", DATA))
    paths = sorted((folder / "kws").glob("right/*.flac"))[:3]
    found += [read_mono(path, 16000) for path in paths]
    return list(map(samples_of, found))


def in_stream(model, chunk):
    """What a stream in Keras makes of a whole input."""
    return to_numpy(Stream(model).push(chunk))


@pytest.mark.parametrize("weights", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("name", ["kws", "slu", "se"])
def test_equal_to_tflite(tmp_path, name, weights):
    skip_unless_deployable()
    model, audio = make_model(name), recordings()
    options = {"weights": weights}
    if weights == "int8":
        options["representative"] = [floats[np.newaxis] for _, floats in audio]
    compiled = export(model, tmp_path / "c", **options)
    path = tmp_path / "m.tflite"
    tflite.convert(model, path, streaming=True, report=None, **options)
    runner = tflite.load(path)
    hop = compiled.constants["SAMPLES"]
    # A rounding error may make an operand of integers one more or less.
    atol = 1e-3 if weights == "int8" else 1e-5
    for integers, floats in audio:
        runner.reset()
        runner.reset_counters()
        compiled.function("reset")()
        starts = range(0, len(integers) - hop + 1, hop)
        expected = [
            runner.step(floats[i : i + hop]).reshape(-1, compiled.sizes[0])
            for i in starts
        ]
        actual = compiled(integers)
        assert len(actual) == len(np.concatenate(expected)) > 1
        assert_close(actual, np.concatenate(expected), atol=atol)
        counted = runner.occupancy().values()
        counted = [o for found in counted for o in found.values()]
        assert compiled.occupancies() == pytest.approx(counted, abs=2e-3)
    compiled.function("reset")()
    np.testing.assert_array_equal(compiled(floats, "push_float"), actual)


def test_window(tmp_path):
    """The mean of the last frames, also after many of them."""
    model = make_model("kws")
    steps = 5
    compiled = export(model, tmp_path, window=steps * 256 / 16000)
    sources = ["model.c", "model_test.c", "-o", "test"]
    run(compiler(), *FLAGS, *sources, folder=tmp_path)
    assert "passed" in run("./test", folder=tmp_path)
    integers, floats = samples_of(make_audio(256 * 23, 1)[0])
    inner = keras.Model(model.input, model.get_layer("classifier").output)
    frames = to_numpy(inner(floats[np.newaxis]))[0]
    expected = [
        frames[max(0, i - steps + 1) : i + 1].mean(axis=0)
        for i in range(len(frames))
    ]
    assert_close(compiled(integers), np.array(expected), atol=1e-5)
    with pytest.raises(ValueError, match="`window` must be a number"):
        keras_duspar.export_c(model, tmp_path, window=0)


def events_of(compiled, audio):
    """The words that an exported spotter hears, as Python's events."""

    class Heard(ctypes.Structure):
        _fields_ = [
            ("word", ctypes.c_int),
            ("start", ctypes.c_double),
            ("end", ctypes.c_double),
            ("confidence", ctypes.c_float),
        ]

    heard = compiled.function("heard", ctypes.POINTER(Heard))
    labels = (ctypes.c_char_p * 4).in_dll(compiled.library, "model_labels")
    push, hop = compiled.function("push", ctypes.c_uint32), 256
    found = []
    for i in range(len(audio) // hop):
        chunk = np.ascontiguousarray(audio[i * hop : (i + 1) * hop])
        if push(ctypes.c_void_p(chunk.ctypes.data)) >> 31:
            e = heard()[0]
            word = labels[e.word].decode()
            found.append(Event(word, e.start, e.end, e.confidence))
    return found


def test_detector(tmp_path):
    """Hears what the detector in Python hears, with a file's thresholds."""
    model, labels = shared_events.make_spotter(), shared_events.LABELS
    settings = {"thresholds": 0.4, "smoothing": 0.05, "refractory": 0.2}
    options = {"labels": labels, "window": 0.2}
    compiled = export(model, tmp_path / "c", detector=settings, **options)
    expected = []
    for integers, _ in recordings()[:2]:
        detector = Detector(model, **options, **settings)
        events = detector.push(integers)
        compiled.function("reset")()
        found = events_of(compiled, integers)
        shared_events.assert_same_events(found, events, atol=1e-4)
        expected += events
    assert len(expected) > 1
    runtime = ROOT / "keras_duspar/micro/runtime/decisions_template.h"
    copy = ROOT / "tflite/src/listening/decisions_template.h"
    assert runtime.read_text() == copy.read_text()
    with pytest.raises(ValueError, match="`detector` needs a `window`"):
        keras_duspar.export_c(model, tmp_path / "a", detector=settings)
    with pytest.raises(ValueError, match="`detector` must be a dictionary"):
        keras_duspar.export_c(
            model, tmp_path / "a", window=1.0, detector={"x": 1}
        )


def test_detector_of_a_file(tmp_path):
    skip_unless_deployable()
    model, labels = shared_events.make_spotter(), shared_events.LABELS
    path = tmp_path / "m.tflite"
    options = {"streaming": True, "window": 0.2, "labels": labels}
    tflite.convert(model, path, report=None, **options)
    with pytest.raises(ValueError, match="converted with `window`"):
        plain = kept_file("spotter")
        keras_duspar.export_c(model, tmp_path / "c", detector=plain)
    tflite.store_detector(path, {"yes": 0.5}, 0.05, 0.2)
    keras_duspar.export_c(
        model, tmp_path / "c", labels=labels, detector=path, report=None
    )
    text = (tmp_path / "c" / "c.c").read_text()
    assert "0.5f, 0.800000012f, 2.0f, 2.0f" in text
    assert "#define C_QUIET 12" in text and "#define C_SMOOTHING 3" in text


def test_audio_comes_out_as_integers(tmp_path):
    compiled = export(make_model("se"), tmp_path)
    loud = 4 * make_audio(1600, 1)[0]
    outputs = np.zeros(16, "int16")
    for i in range(100):
        compiled(loud[16 * i : 16 * i + 16], "push_float")
        compiled.function("audio")(ctypes.c_void_p(outputs.ctypes.data))
        expected = np.round(compiled.output() * 32768)
        np.testing.assert_array_equal(outputs, np.clip(expected, -32768, 32767))


def test_files_need_nothing_and_test_themselves(tmp_path):
    folder = tmp_path / "words"
    printed = []
    path = keras_duspar.export_c(
        make_model("slu"),
        f"{folder}/",
        labels=[f'"{i}"' for i in range(31)],
        report=lambda footprint: printed.append(str(footprint)),
    )
    assert path == folder
    names = ["words.c", "words.h", "words_test.c"]
    assert sorted(p.name for p in folder.iterdir()) == names
    cc = [compiler(), *FLAGS, "-O2"]
    run(*cc, "-c", "words.c", folder=folder)
    symbols = run(program("nm", "binutils"), "words.o", folder=folder)
    needed = set(re.findall(r" U (\w+)", symbols))
    assert needed <= {"memcpy", "memmove", "memset"}
    defined = set(re.findall(r" [TRD] (\w+)", symbols))
    functions = ["init", "reset", "push", "push_float", "output", "labels"]
    assert defined == {f"words_{name}" for name in functions}
    # The footprint is what the compiler says.
    sizes = dict.fromkeys("rb", 0)
    output = run(program("nm", "binutils"), "-S", "words.o", folder=folder)
    for size, kind in re.findall(r"\w+ (\w+) (\w) words_", output):
        sizes[kind] = sizes.get(kind, 0) + int(size, 16)
    flash, ram = (
        int(found.replace(",", ""))
        for found in re.findall(r"([\d,]+) bytes", printed[0])
    )
    assert abs(flash - sizes["r"]) < 400  # pointers, alignment
    assert abs(ram - sizes["b"]) < 100
    assert "MACs" in printed[0]

    checked = ["-fsanitize=address,undefined", "-fno-sanitize-recover"]
    sources = ["words.c", "words_test.c", "-o", "test"]
    run(*cc, *checked, *sources, folder=folder)
    assert "passed" in run("./test", folder=folder)
    test = folder / "words_test.c"
    text = test.read_text()
    number = re.search(r"words_expected\[\] = \{\n  (\S+),", text)[1]
    test.write_text(text.replace(number, "7.5f", 1))
    run(*cc, *sources, folder=folder)
    done = subprocess.run(["./test"], cwd=folder, capture_output=True)
    assert done.returncode == 1 and b"FAILED" in done.stdout


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
        for name in [
            "relu6",
            "elu",
            "silu",
            "softplus",
            "softsign",
            "hard_sigmoid",
            "leaky_relu",
            "exponential",
            "sigmoid",
        ]
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


def test_bad_arguments(tmp_path):
    model = features_model(L.Dense(2))
    with pytest.raises(ValueError, match="`name` must be an identifier"):
        keras_duspar.export_c(model, tmp_path / "a b")
    with pytest.raises(ValueError, match="`weights` must be one of"):
        keras_duspar.export_c(model, tmp_path / "a", weights="int4")
    with pytest.raises(ValueError, match="`labels` must be a list of 2"):
        keras_duspar.export_c(model, tmp_path / "a", labels=["x"] * 9)


def test_command(tmp_path, capsys):
    file = tmp_path / "m.keras"
    make_model("kws").save(file)
    command = ["export-c", str(file), str(tmp_path / "kws")]
    assert main([*command, "--weights", "int8"]) == 0
    assert "flash" in capsys.readouterr().out
    assert (tmp_path / "kws" / "kws.c").exists()
    assert main([*command, "--name", "1"]) == 2
    assert "`name` must be" in capsys.readouterr().err


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
