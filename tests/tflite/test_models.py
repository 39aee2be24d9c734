"""The paper's models in a file give what they give in Keras."""

import functools

import numpy as np
import pytest

import keras_duspar
from keras_duspar import tflite
from keras_duspar.streaming import Stream
from tests.helpers import assert_close
from tests.helpers import check_occupancy
from tests.tflite.conftest import BUILDERS
from tests.tflite.conftest import make_audio
from tests.tflite.conftest import make_model

pytestmark = pytest.mark.any_backend
RECURRENT = {"spotter": 2, "recognizer": 2, "enhancer": 4}
OPTIONS = {
    "sparse": {"ops": "sparse"},
    "builtin": {"ops": "builtin", "count": True},
}


@pytest.fixture(scope="module", params=sorted(BUILDERS))
def name(request):
    return request.param


@functools.cache
def run_keras(name):
    """Audio, and what the Keras model makes of it and counts."""
    audio = make_audio(1700 if name == "enhancer" else 8200)
    model = make_model(name)
    profile = keras_duspar.profile(model, audio)
    return audio, model.predict(audio, verbose=0), profile


@pytest.fixture(scope="module", params=sorted(OPTIONS))
def ops(request):
    return request.param


@pytest.fixture(scope="module", params=[False, True], ids=["whole", "stream"])
def path(name, ops, request, convert):
    return convert(name, streaming=request.param, **OPTIONS[ops])


def test_outputs_and_occupancy(path, name):
    audio, outputs, profile = run_keras(name)
    runner = tflite.load(path)
    actual = runner(audio)
    assert_close(actual, outputs, atol=1e-5)
    np.testing.assert_array_equal(
        actual.argmax(axis=-1), outputs.argmax(axis=-1)
    )
    assert_close(runner(audio[1]), outputs[1], atol=1e-5)
    runner.reset_counters()
    runner(audio)
    found = runner.profile()
    assert found.steps == profile.steps
    for ours, theirs in zip(found.layers, profile.layers):
        assert (ours.name, ours.kind, ours.params, ours.cost) == (
            theirs.name,
            theirs.kind,
            theirs.params,
            theirs.cost,
        )
        assert ours.recurrent == theirs.recurrent
        assert ours.dense_macs == theirs.dense_macs
        # A rounding error may turn the sign of an entry.
        assert ours.occupancies == pytest.approx(theirs.occupancies, abs=1e-3)
        if ours.recurrent:
            measured = runner.occupancy()[ours.name]
            assert measured == pytest.approx(ours.occupancies)
    assert found.occupancy == pytest.approx(profile.occupancy, rel=1e-3)
    assert found.dense_macs == profile.dense_macs


def test_operators(path, name, ops):
    operators = tflite.inspect(path).operators
    sparse = RECURRENT[name] if ops == "sparse" else 0
    assert operators.get("DuSpaR", 0) == sparse
    assert not any("Flex" in operator for operator in operators)
    assert "CUSTOM" not in operators and "EnsureShape" not in operators
    front_end = "DuSpaRLogMel" if ops == "sparse" else "RFFT2D"
    for operator in ("DuSpaRLogMel", "RFFT2D"):
        expected = name != "enhancer" and operator == front_end
        assert operators.get(operator, 0) == expected


def test_description(path, name, ops):
    about = tflite.inspect(path).description
    model = make_model(name)
    assert about["task"] == model.task
    assert about["version"] == keras_duspar.__version__
    assert about["sample_rate"] == 16000
    assert about["hop"] == (16 if name == "enhancer" else 256)
    assert about["ops"] == ops
    assert [o["name"] for o in about["outputs"]] == model.output_names
    layers = {layer["name"]: layer for layer in about["layers"]}
    total = sum(layer["params"] for layer in layers.values())
    assert total == sum(np.prod(w.shape) for w in model.trainable_weights)
    assert layers["recurrent_2"]["operands"][0] == {
        "name": "e",
        "size": 12,
        "fan": 24,
        "sparse": True,
    }


@pytest.mark.parametrize("ops", ["sparse", "builtin"])
def test_every_step_is_that_of_the_keras_stream(name, ops, convert):
    runner = tflite.load(convert(name, streaming=True, **OPTIONS[ops]))
    stream = Stream(make_model(name))
    assert (runner.samples, runner.delay) == (stream.samples, stream.delay)
    assert set(runner.states) == set(stream.states)
    state = stream.initial_state()
    audio = make_audio(20 * stream.samples, batch=1)
    shapes = set()
    for i in range(20):
        chunk = audio[:, i * stream.samples : (i + 1) * stream.samples]
        outputs, state = stream.step(chunk, state)
        actual = runner.step(chunk)
        shapes.add(actual.shape)
        assert_close(actual, outputs, atol=1e-5)
    # The second pool of 4 completes a group every 16 frames.
    expected = {(1, 0, 32), (1, 1, 32)} if name == "recognizer" else shapes
    assert shapes == expected and len(expected) in (1, 2)


def test_chunks_of_several_frames(name, convert):
    path = convert(name, streaming=True, frames=4)
    runner = tflite.load(path)
    audio = run_keras(name)[0][:, : 28 * runner.hop]
    assert runner.samples == 4 * runner.hop
    expected = make_model(name).predict(audio, verbose=0)
    assert_close(runner(audio), expected, atol=1e-5)


def test_compiled_model(name, convert):
    """LiteRT 2 with our kernels gives what the delegate gives.

    The delegate computes dense layers, too, so that bits differ.
    """
    frames = 16 if name == "recognizer" else 1  # whole pools
    path = convert(name, streaming=True, ops="sparse", frames=frames)
    audio = run_keras(name)[0][:1]
    first = tflite.load(path)
    try:
        second = tflite.load(path, runtime="compiled")
    except ImportError as e:
        pytest.skip(str(e))
    assert_close(first(audio), second(audio), atol=1e-5)
    assert first.profile().steps == second.profile().steps
    check_occupancy(first, second)


def test_long_stream_does_not_drift(convert):
    """20 seconds of 1 ms frames, against one run over the whole."""
    audio = make_audio(20 * 16000, batch=1)
    stream = tflite.load(convert("enhancer", streaming=True, ops="sparse"))
    whole = tflite.load(convert("enhancer", streaming=False, ops="sparse"))
    expected = whole(audio)
    assert_close(stream(audio), expected, atol=1e-5)
    assert np.abs(expected[:, -1600:]).max() > 0.01
    check_occupancy(stream, whole)
    assert stream.profile().steps == 20001


def test_long_mean_does_not_drift(convert):
    audio = make_audio(20 * 16000, batch=1)
    runner = tflite.load(convert("spotter", streaming=True, ops="sparse"))
    expected = make_model("spotter").predict(audio, verbose=0)
    assert_close(runner(audio), expected, atol=1e-5)
