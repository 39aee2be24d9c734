"""The detector in C, and what it reads of files, called from Python."""

from ctypes import c_char_p
from ctypes import c_double

import numpy as np
import pytest

from keras_duspar import native
from keras_duspar import tflite
from keras_duspar.streaming import Event
from keras_duspar.streaming.detector import Decisions
from keras_duspar.streaming.detector import detector_settings
from tests.kept.make import HERE as KEPT
from tests.native.listening import FoundEvent
from tests.native.listening import Library
from tests.native.listening import Settings
from tests.streaming.shared_events import assert_same_events
from tests.streaming.shared_events import read_events
from tests.tflite.conftest import convert  # noqa: F401
from tests.tflite.conftest import make_audio

pytestmark = pytest.mark.any_backend


@pytest.fixture(scope="module")
def library():
    return Library()


def make_detector(library, labels, settings, seconds):
    nan = float("nan")
    thresholds = [nan if t is None else t for t in settings["thresholds"]]
    texts = [label.encode() for label in labels]
    return library.detector_create(
        Settings(
            len(labels),
            (c_char_p * len(labels))(*texts),
            (c_double * len(labels))(*thresholds),
            seconds,
            settings["window"],
            settings["smoothing"],
            settings["refractory"],
        )
    )


def events_of(library, detector, scores):
    found, event = [], FoundEvent()
    for row in np.ascontiguousarray(scores, "float32"):
        if library.detector_step(detector, row.ctypes.data, event):
            word = event.word.decode()
            values = (event.start, event.end, event.confidence)
            found.append(Event(word, *values))
    return found


def test_shared_events(library):
    shared = read_events()
    detector = make_detector(
        library, shared.labels, shared.settings, shared.seconds
    )
    for _ in range(2):
        found = events_of(library, detector, shared.scores)
        assert_same_events(found, shared.events)
        library.detector_reset(detector)
    library.detector_destroy(detector)


def test_same_events_as_in_python(library, rng):
    """Scores that wander, with every kind of setting."""
    labels = ["ja", "nein", "größer", "unknown", "silence"]
    heard = 0
    for i in range(20):
        settings = detector_settings(
            labels,
            window=1.0,
            thresholds=dict(zip(labels[:3], rng.uniform(0.3, 0.9, 3))),
            smoothing=float(rng.choice([0, 0.05, 0.3])),
            refractory=float(rng.choice([0, 0.4, 2])),
        )
        scores = np.cumsum(rng.normal(0, 0.5, (600, 5)), axis=0) * 0.3
        scores[rng.random(600) < 0.01 * (i % 2)] = np.nan
        scores = scores.astype("float32")
        decisions = Decisions(labels, settings, 0.016)
        expected = [e for e in map(decisions.step, scores) if e]
        detector = make_detector(library, labels, settings, 0.016)
        found = events_of(library, detector, scores)
        library.detector_destroy(detector)
        assert_same_events(found, expected, 1e-12)
        heard += len(found)
    assert heard > 50


def test_detector_of_a_file(library, convert, tmp_path):  # noqa: F811
    labels = ['sp"e\\ak', "größer", "𝄞", "unknown"]
    labels += [f"word {i}" for i in range(31)]
    path = tmp_path / "spotter.tflite"
    source = convert("spotter", streaming=True, window=0.2, labels=labels)
    path.write_bytes(source.read_bytes())
    words = {label: 0.03 for label in labels if label != "unknown"}
    tflite.store_detector(path, words, smoothing=0.05, refractory=0.1)
    data = path.read_bytes()
    detector = library.detector_from_file(data, len(data))
    assert library.detector_classes(detector) == 35
    runner = tflite.load(path)
    scores = np.array(runner.push(make_audio(48000)[0])) * 3
    decisions = Decisions(labels, runner.description["detector"], 0.016)
    expected = [e for e in map(decisions.step, scores) if e]
    assert expected
    assert_same_events(events_of(library, detector, scores), expected, 1e-12)
    library.detector_destroy(detector)
    # Every label, also those of other alphabets.
    detector = library.detector_from_file(data, len(data))
    for i, label in enumerate(labels):
        library.detector_reset(detector)
        scores = np.full((10, 35), -20.0)
        scores[:, i] = 20
        found = events_of(library, detector, scores)
        assert [e.word for e in found] == [label] * (label != "unknown")
    library.detector_destroy(detector)


def test_bad_detectors(library):
    good = detector_settings(["a", "b"], 1.0)
    for name, value in [
        ("window", 0),
        ("window", float("nan")),
        ("smoothing", -1),
        ("smoothing", float("inf")),
        ("refractory", -0.1),
        ("thresholds", [0.5, 0.0]),
        ("thresholds", [1.1, 0.5]),
    ]:
        settings = {**good, name: value}
        assert not make_detector(library, ["a", "b"], settings, 0.016)
        assert f"`{name}`" in library.last_error().decode()
    assert not make_detector(library, ["a", "b"], good, 0.0)
    assert not make_detector(library, [], {**good, "thresholds": []}, 0.016)
    assert not library.detector_create(None)
    for path in sorted(KEPT.glob("*/*.tflite")):
        if path.stem == "listener":  # the one with a window
            continue
        data = path.read_bytes()
        assert not library.detector_from_file(data, len(data))
        assert b"converted with `window`" in library.last_error()
    assert not library.detector_from_file(b"no file", 7)


@pytest.mark.parametrize("name", ["spotter", "recognizer", "enhancer"])
def test_file_description(library, name):
    """Against the interpreter's own details of its tensors."""
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    path = KEPT / "0.1.0" / f"{name}.tflite"
    data = path.read_bytes()
    found = library.file_read(data, len(data)).contents
    runner = tflite.load(path)
    assert found.task.decode() == runner.task
    assert found.kind.decode() == runner.description["outputs"][0]["kind"]
    assert found.sample_rate == runner.sample_rate
    assert found.delay == runner.delay
    delegate = litert.load_delegate(native.library_path())
    interpreter = litert.Interpreter(
        str(path), experimental_delegates=[delegate]
    )
    inputs = [t["index"] for t in interpreter.get_input_details()]
    outputs = [t["index"] for t in interpreter.get_output_details()]
    signature = runner.signature
    assert inputs[found.input] == signature.inputs[next(iter(runner.inputs))]
    first = next(iter(runner.outputs))
    assert outputs[found.output] == signature.outputs[first]
    assert found.state_count == len(runner.states)
    for state, place in zip(runner.states, found.states):
        assert inputs[place.input] == signature.inputs[state]
        assert outputs[place.output] == signature.outputs[state]
    library.file_free(found)
    whole = (KEPT / "0.1.0" / "quantized.tflite").read_bytes()
    assert not library.file_read(whole, len(whole))
    assert b"`streaming=True`" in library.last_error()
    for size in range(0, len(data), 997):  # cut off anywhere
        cut = data[:size]
        assert not library.file_read(cut, size) or size > len(data) // 2
