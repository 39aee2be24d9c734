"""The detector, the resampler and the input in C, called from Python."""

import ctypes
from ctypes import POINTER
from ctypes import c_char_p
from ctypes import c_double
from ctypes import c_float
from ctypes import c_int16
from ctypes import c_int32
from ctypes import c_size_t
from ctypes import c_uint64
from ctypes import c_void_p

import numpy as np
import pytest

from keras_duspar import native
from keras_duspar import tflite
from keras_duspar.streaming import Event
from keras_duspar.streaming.detector import Decisions
from keras_duspar.streaming.detector import detector_settings
from tests.kept.make import HERE as KEPT
from tests.streaming.shared_events import assert_same_events
from tests.streaming.shared_events import read_events
from tests.tflite.conftest import convert  # noqa: F401
from tests.tflite.conftest import make_audio

pytestmark = pytest.mark.any_backend


class Settings(ctypes.Structure):
    _fields_ = [
        ("classes", c_size_t),
        ("labels", POINTER(c_char_p)),
        ("thresholds", POINTER(c_double)),
        ("seconds", c_double),
        ("window", c_double),
        ("smoothing", c_double),
        ("refractory", c_double),
    ]


class FoundEvent(ctypes.Structure):
    _fields_ = [
        ("index", c_size_t),
        ("word", c_char_p),
        ("start", c_double),
        ("end", c_double),
        ("confidence", c_double),
    ]


class InputSettings(ctypes.Structure):
    _fields_ = [
        ("rate", c_int32),
        ("model_rate", c_int32),
        ("samples", c_size_t),
        ("seconds", c_double),
    ]


class FileState(ctypes.Structure):
    _fields_ = [("input", c_int32), ("output", c_int32)]


class File(ctypes.Structure):
    _fields_ = [
        ("task", ctypes.c_char * 64),
        ("kind", ctypes.c_char * 16),
        ("sample_rate", c_int32),
        ("delay", c_int32),
        ("input", c_int32),
        ("output", c_int32),
        ("state_count", c_size_t),
        ("states", POINTER(FileState)),
    ]


FUNCTIONS = {
    "detector_create": (c_void_p, [POINTER(Settings)]),
    "detector_from_file": (c_void_p, [c_char_p, c_size_t]),
    "detector_destroy": (None, [c_void_p]),
    "detector_reset": (None, [c_void_p]),
    "detector_step": (c_int32, [c_void_p, c_void_p, POINTER(FoundEvent)]),
    "detector_classes": (c_size_t, [c_void_p]),
    "file_read": (POINTER(File), [c_char_p, c_size_t]),
    "file_free": (None, [POINTER(File)]),
    "resampler_create": (c_void_p, [c_int32, c_int32]),
    "resampler_destroy": (None, [c_void_p]),
    "resampler_reset": (None, [c_void_p]),
    "resampler_delay": (c_int32, [c_void_p]),
    "resampler_room": (c_size_t, [c_void_p, c_size_t]),
    "resampler_run": (c_size_t, [c_void_p, c_void_p, c_size_t, c_void_p]),
    "input_create": (c_void_p, [POINTER(InputSettings)]),
    "input_destroy": (None, [c_void_p]),
    "input_push": (c_size_t, [c_void_p, POINTER(c_float), c_size_t]),
    "input_push_int16": (c_size_t, [c_void_p, POINTER(c_int16), c_size_t]),
    "input_dropped": (c_uint64, [c_void_p]),
    "input_pull": (c_int32, [c_void_p, c_void_p]),
    "input_reset": (None, [c_void_p]),
    "last_error": (c_char_p, []),
}


class Library:
    """The functions by their names without `duspar_`."""

    def __init__(self):
        loaded = ctypes.CDLL(native.library_path())
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(loaded, f"duspar_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)


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


class Resampler:
    def __init__(self, library, rate, new_rate):
        self._library = library
        self.handle = library.resampler_create(rate, new_rate)
        self.delay = library.resampler_delay(self.handle)

    def __call__(self, samples):
        samples = np.ascontiguousarray(samples, "float32")
        room = self._library.resampler_room(self.handle, len(samples))
        output = np.full(room + 1, np.nan, "float32")
        count = self._library.resampler_run(
            self.handle, samples.ctypes.data, len(samples), output.ctypes.data
        )
        assert count <= room and np.isnan(output[count:]).all()
        return output[:count]

    def __del__(self):
        self._library.resampler_destroy(self.handle)


RATES = [
    (8000, 16000),
    (11025, 16000),
    (22050, 16000),
    (32000, 16000),
    (44100, 16000),
    (48000, 16000),
    (16000, 48000),
    (47999, 8000),
]


@pytest.mark.parametrize("rate, new_rate", RATES)
def test_resampler_as_soxr(library, rate, new_rate, rng):
    """Sound of the passband: as soxr's best, which is late by as much."""
    soxr = pytest.importorskip("soxr")
    seconds = np.arange(rate) / rate
    top = 0.87 * min(rate, new_rate) / 2
    sound = sum(
        np.sin(2 * np.pi * f * seconds + rng.uniform(0, 6)) / 20
        for f in rng.uniform(50, top, 20)
    )
    resampler = Resampler(library, rate, new_rate)
    late = np.concatenate([np.zeros(resampler.delay), sound])
    expected = soxr.resample(late, rate, new_rate, quality="VHQ")
    found = []
    for block in np.array_split(sound, 37):
        found.append(resampler(block))
    found = np.concatenate(found)
    assert abs(len(found) - new_rate) <= 1
    # Beyond the edges, where the sound is cut off.
    kept = slice(new_rate // 10, new_rate - new_rate // 10)
    error = found[kept] - expected[: len(found)][kept]
    level = np.sqrt(np.mean(expected[kept] ** 2))
    assert np.sqrt(np.mean(error**2)) < 1e-3 * level  # -60 dB
    # A constant stays one.
    constant = resampler(np.ones(rate))[-100:]
    np.testing.assert_allclose(constant, 1, atol=1e-5)


@pytest.mark.parametrize("rate, new_rate", RATES)
def test_resampler_does_not_alias(library, rate, new_rate):
    """Tones that the output cannot hold, or images of those that it can."""
    seconds = np.arange(rate) / rate
    half = min(rate, new_rate) / 2
    if new_rate < rate:
        tones = np.linspace(half, rate / 2, 9)[:-1]
        pure = [np.sin(2 * np.pi * f * seconds) for f in tones]
        for sound in pure:
            found = Resampler(library, rate, new_rate)(sound)
            assert np.abs(found[new_rate // 10 :]).max() < 1e-3  # -60 dB
        return
    for f in np.linspace(100, 0.87 * half, 5):
        f = round(f)  # whole periods in a second
        sound = np.sin(2 * np.pi * f * seconds)
        found = Resampler(library, rate, new_rate)(np.tile(sound, 2))
        power = np.abs(np.fft.rfft(found[-new_rate:])) ** 2
        assert power[f] / power.sum() > 1 - 1e-6


def test_bad_rates(library):
    for rates in ((7999, 16000), (16000, 48001), (0, 0)):
        assert not library.resampler_create(*rates)
        assert b"must be from 8000 to 48000" in library.last_error()
    for bad in (
        InputSettings(7000, 16000, 256, 0),
        InputSettings(16000, 16000, 0, 0),
        InputSettings(16000, 16000, 256, float("nan")),
    ):
        assert not library.input_create(bad)


def pull_all(library, handle, samples):
    chunks = []
    while True:
        chunk = np.zeros(samples, "float32")
        if not library.input_pull(handle, chunk.ctypes.data):
            return chunks
        chunks.append(chunk)


def as_pointer(array, kind):
    return array.ctypes.data_as(POINTER(kind))


@pytest.mark.parametrize("rate", [16000, 44100])
def test_input(library, rate, rng):
    """Pieces of any size and both kinds make the chunks of the whole."""
    handle = library.input_create(InputSettings(rate, 16000, 256, 0.5))
    integers = rng.integers(-32768, 32768, 3 * rate).astype("int16")
    floats = integers.astype("float32") / 32768
    expected = floats
    if rate != 16000:
        expected = Resampler(library, rate, 16000)(floats)
    found, start = [], 0
    while start < len(integers):
        size = int(rng.integers(0, rate // 2))
        whole = rng.random() < 0.5
        block = (integers if whole else floats)[start : start + size].copy()
        push = library.input_push_int16 if whole else library.input_push
        pointer = as_pointer(block, c_int16 if whole else c_float)
        assert push(handle, pointer, len(block)) == len(block)
        found += pull_all(library, handle, 256)
        start += size
    found = np.concatenate(found)
    assert len(expected) - len(found) < 256
    np.testing.assert_array_equal(found, expected[: len(found)])
    assert library.input_dropped(handle) == 0
    library.input_destroy(handle)


def test_input_takes_anything(library):
    handle = library.input_create(InputSettings(16000, 16000, 4, 0))
    odd = [np.nan, np.inf, -np.inf, 7, -7, 1e-30, 0.5, -0.0]
    odd = np.array(odd, "float32")
    library.input_push(handle, as_pointer(odd, c_float), 8)
    found = np.concatenate(pull_all(library, handle, 4))
    np.testing.assert_array_equal(
        found, np.array([0, 1, -1, 1, -1, 1e-30, 0.5, 0], "float32")
    )
    # What there is no room for is dropped, and counted.
    many = np.ones(1 << 20, "float32")
    taken = library.input_push(handle, as_pointer(many, c_float), len(many))
    assert 16000 <= taken < len(many)
    assert library.input_dropped(handle) == len(many) - taken
    assert len(pull_all(library, handle, 4)) == taken // 4
    library.input_push(handle, as_pointer(odd, c_float), 3)
    library.input_reset(handle)
    library.input_push(handle, as_pointer(odd, c_float), 4)
    np.testing.assert_array_equal(pull_all(library, handle, 4), [[0, 1, -1, 1]])
    library.input_destroy(handle)
