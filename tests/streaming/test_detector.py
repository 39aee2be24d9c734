"""Words in streams that never end."""

import keras
import numpy as np
import pytest

from keras_duspar import models
from keras_duspar.audio import LogMel
from keras_duspar.audio import TemporalPooling
from keras_duspar.streaming import Detector
from keras_duspar.streaming import Stream
from keras_duspar.streaming.detector import Decisions
from keras_duspar.streaming.detector import detector_settings
from keras_duspar.streaming.detector import softmax
from tests.helpers import assert_close
from tests.helpers import to_numpy
from tests.streaming.shared_events import LABELS
from tests.streaming.shared_events import assert_same_events
from tests.streaming.shared_events import make_spotter
from tests.streaming.shared_events import read_events


def make_sound(rng, samples):
    """Noise that comes and goes, so that the scores change."""
    loud = np.abs(np.sin(np.arange(samples) / 3000))
    return np.clip(rng.normal(0, 0.2, samples) * loud, -1, 1)


@pytest.mark.parametrize("frames", [1, 4])
def test_window_is_the_mean_of_the_last_seconds(frames, rng):
    """Against the scores of every frame, averaged here."""
    model = make_spotter()
    audio = make_sound(rng, 256 * 40)[None].astype("float32")
    every = keras.Model(model.input, model.get_layer("classifier").output)
    scores = to_numpy(every(audio))
    stream = Stream(model, frames, window=0.2)
    calls = round(0.2 * 62.5 / frames)
    assert stream.window == pytest.approx(calls * frames * 0.016)
    for i in range(0, 40, frames):
        found = stream.push(audio[:, i * 256 : (i + frames) * 256])
        first = max(0, i + frames - calls * frames)
        assert_close(found, scores[:, first : i + frames].mean(axis=1), 2e-5)


def test_window_after_pooling(rng):
    """Calls that bring no step count for none."""
    inputs = keras.Input((None,))
    x = LogMel(padding="causal")(inputs)
    x = TemporalPooling(4)(x)
    every = keras.Model(inputs, x)
    model = keras.Model(inputs, keras.layers.GlobalAveragePooling1D()(x))
    audio = make_sound(rng, 256 * 20)[None].astype("float32")
    steps = to_numpy(every(audio))
    stream = Stream(model, window=0.128)  # 8 frames, 2 steps
    for i in range(20):
        found = stream.push(audio[:, i * 256 : (i + 1) * 256])
        if i >= 7:
            done = (i + 1) // 4
            assert_close(found, steps[:, done - 2 : done].mean(axis=1), 2e-5)


@pytest.mark.any_backend
def test_bad_windows():
    model = make_spotter()
    with pytest.raises(ValueError, match="`window` must be a number in"):
        Stream(model, window=-1)
    with pytest.raises(ValueError, match="`window` must be at least a chunk"):
        Stream(model, 64, window=0.1)
    with pytest.raises(ValueError, match="`window`.*averages over time"):
        Stream(models.speech_enhancer("spar", 4, num_layers=1), window=1.0)
    inputs = keras.Input((None, 3))
    mean = keras.layers.GlobalAveragePooling1D()(inputs)
    with pytest.raises(ValueError, match="`window`.*tells its sample rate"):
        Stream(keras.Model(inputs, mean), window=1.0)


@pytest.mark.any_backend
def test_shared_events():
    shared = read_events()
    decisions = Decisions(shared.labels, shared.settings, shared.seconds)
    for _ in range(2):
        steps = [decisions.step(scores) for scores in shared.scores]
        found = [event for event in steps if event is not None]
        assert_same_events(found, shared.events)
        decisions.reset()


@pytest.mark.any_backend
def test_settings():
    settings = detector_settings(LABELS, 1, {"no": 0.5, "silence": 0.9})
    assert settings["thresholds"] == [0.8, 0.5, None, 0.9]
    assert detector_settings(LABELS, 1, 0.3)["thresholds"][:3] == [
        0.3,
        0.3,
        None,
    ]
    for bad in ({"maybe": 0.5}, {"yes": 0}, {"yes": 1.5}, "0.5", {"yes": True}):
        with pytest.raises(ValueError, match="`thresholds` must be"):
            detector_settings(LABELS, 1, bad)
    for name in ("window", "smoothing", "refractory"):
        with pytest.raises(ValueError, match=f"`{name}` must be a number"):
            detector_settings(LABELS, **{"window": 1, name: -1})


def events_by_hand(model, audio, threshold, refractory):
    """Without smoothing: every window by itself, in plain steps."""
    every = keras.Model(model.input, model.get_layer("classifier").output)
    scores = to_numpy(every(audio[None].astype("float32")))[0]
    found, held, last = [], None, -1000
    for i in range(1, len(scores) + 1):
        shares = softmax(scores[max(0, i - 12) : i].mean(axis=0))
        best = int(np.argmax(shares))
        if best > 1 or shares[best] < threshold:
            held = None
        elif best != held and i - last >= refractory:
            found.append((LABELS[best], round(i * 0.016, 6)))
            held, last = best, i
    return found


def test_events_of_a_model(rng):
    """In pieces of any size, as floats and as 16-bit integers."""
    model = make_spotter()
    audio = make_sound(rng, 16000 * 4)
    audio = np.round(audio * 32767) / 32768
    expected = events_by_hand(model, audio, 0.4, 5)
    assert len({word for word, _ in expected}) == 2 and len(expected) > 4
    options = {"smoothing": 0, "refractory": 0.08, "thresholds": 0.4}
    detector = Detector(model, LABELS, window=0.192, **options)
    for samples in (audio, np.round(audio * 32768).astype("int16")):
        found, start = [], 0
        while start < len(samples):
            size = int(rng.integers(0, 3000))
            found += detector.push(samples[start : start + size])
            start += size
        assert [(e.word, round(e.end, 6)) for e in found] == expected
        assert all(e.start == pytest.approx(e.end - 0.192) for e in found[1:])
        assert all(0.4 <= e.confidence <= 1 for e in found)
        detector.reset()


def test_other_rates(rng):
    soxr = pytest.importorskip("soxr")
    model = make_spotter()
    audio = make_sound(rng, 44100 * 2)
    audio = soxr.resample(soxr.resample(audio, 44100, 7000), 7000, 44100)
    detector = Detector(model, LABELS, 0.4, window=0.192)
    expected = detector.push(soxr.resample(audio, 44100, 16000))
    detector.reset()
    found = []
    for block in np.array_split(audio, 50):
        found += detector.push(block, 44100)
    assert len(expected) > 1
    assert_same_events(found, expected, atol=0.05)
    for rate in (7999, 48001):
        with pytest.raises(ValueError, match="`rate` must be 8000 to 48000"):
            detector.push(audio, rate)
    with pytest.raises(ValueError, match="`rate` must be a positive integer"):
        detector.push(audio, 16000.5)


def test_nothing_spoils_a_stream(rng):
    """What is no sound is silence, or full scale: the states go on."""
    model = make_spotter()
    noise = make_sound(rng, 8000)
    taken = {
        "silence": (np.zeros(8000), np.zeros(8000)),
        "clipping": (np.sign(noise) * 1e6, np.sign(noise)),
        "direct current": (np.ones(8000), np.ones(8000)),
        "nan": (np.full(8000, np.nan), np.zeros(8000)),
        "infinity": (np.full(8000, -np.inf), -np.ones(8000)),
        "tiny": (np.full(8000, 1e-30), np.full(8000, 1e-30)),
        "sound": (noise, noise),
    }
    detectors = [Detector(model, LABELS, 0.4, window=0.192) for _ in range(2)]
    for sounds in taken.values():
        heard = [d.push(sound) for d, sound in zip(detectors, sounds)]
        assert heard[0] == heard[1]
        states = [detector.source._state for detector in detectors]
        for name, value in states[0].items():
            assert np.isfinite(value).all()
            np.testing.assert_array_equal(value, states[1][name])
    assert heard[0]


def test_states_that_are_no_numbers_begin_anew(rng):
    model = make_spotter()
    noise = make_sound(rng, 8192)
    detectors = [Detector(model, LABELS, 0.4, window=0.192) for _ in range(2)]
    detectors[0].push(noise)
    states = detectors[0].source._state
    states["recurrent_1/f"] = np.full_like(states["recurrent_1/f"], np.nan)
    detectors[0].push(noise[:256])  # all that is lost
    for detector in detectors:
        detector.push(noise)
    for name, value in detectors[1].source._state.items():
        np.testing.assert_array_equal(detectors[0].source._state[name], value)


@pytest.mark.any_backend
def test_bad_arguments():
    model = make_spotter()
    with pytest.raises(ValueError, match="`source` must look back"):
        Detector(Stream(model))
    with pytest.raises(ValueError, match="`window` must be None, as `source`"):
        Detector(Stream(model, window=1.0), window=1.0)
    with pytest.raises(ValueError, match="`labels` must be 4 strings"):
        Detector(model, ["yes"])
    detector = Detector(model)
    assert detector.labels == ["0", "1", "2", "3"]
    for bad in (np.zeros((1, 5)), np.zeros(5, "int32"), "sound"):
        with pytest.raises(ValueError, match="`samples` must be int16 or"):
            detector.push(bad)
