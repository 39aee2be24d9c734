"""Files that listen: scores over a window, any samples, kept thresholds."""

import json

import numpy as np
import pytest

from keras_duspar import tflite
from keras_duspar.streaming import Detector
from keras_duspar.streaming import Stream
from tests.helpers import assert_close
from tests.streaming.shared_events import assert_same_events
from tests.tflite.conftest import make_audio
from tests.tflite.conftest import make_model

WINDOW = {"streaming": True, "window": 0.2}


@pytest.mark.parametrize("ops", ["sparse", "builtin"])
@pytest.mark.parametrize("frames", [1, 3])
def test_window_as_in_keras(convert, ops, frames):
    runner = tflite.load(convert("spotter", ops=ops, frames=frames, **WINDOW))
    stream = Stream(make_model("spotter"), frames, window=0.2)
    assert runner.window == pytest.approx(stream.window)
    audio = make_audio(12000)[0]
    found = runner.push(audio)
    assert len(found) == 12000 // runner.samples
    for i, scores in enumerate(found):
        chunk = audio[i * runner.samples : (i + 1) * runner.samples]
        assert_close(scores, stream.push(chunk[None])[0], 1e-4)


@pytest.mark.any_backend
def test_pieces_of_any_kind(convert, rng):
    """16-bit integers in pieces are the floats of whole chunks."""
    runner = tflite.load(convert("spotter", **WINDOW))
    audio = np.round(make_audio(8192)[0] * 32768).astype("int16")
    expected = [
        runner.step(chunk.astype("float32") / 32768)
        for chunk in audio.reshape(-1, 256)
    ]
    runner.reset()
    found, start = [], 0
    while start < len(audio):
        size = int(rng.integers(0, 900))
        found += runner.push(audio[start : start + size])
        start += size
    np.testing.assert_array_equal(found, expected)
    runner.push(audio[:100])
    runner.reset()  # drops what waits, too
    np.testing.assert_array_equal(runner.push(audio), expected)
    with pytest.raises(ValueError, match="`samples` must be int16 or floats"):
        runner.push(audio.astype("int32"))


@pytest.mark.any_backend
@pytest.mark.parametrize("name", ["spotter", "enhancer"])
def test_nothing_spoils_a_stream(convert, name):
    """Silence, clipping, direct current, NaN, infinity, tiny numbers."""
    runner = tflite.load(convert(name, streaming=True))
    noise = make_audio(4096)[0]
    runner.push(noise)
    for bad in (0, 1, 1e6, np.nan, np.inf, -np.inf, 1e-30):
        assert np.isfinite(runner.push(np.full(4096, float(bad)))).all()
        for state in runner._old:
            assert (np.abs(state[state != 0]) > 2.0**-126).all()
    heard = runner.push(noise)
    assert np.isfinite(heard).all() and np.ptp(heard) > 0
    # States that are no numbers any more begin anew, after one chunk.
    if runner._old:
        runner._old[1][...] = np.nan
    runner._values = {n: v * np.nan for n, v in runner._values.items()}
    (lost,) = runner.push(noise[: runner.samples])
    assert not lost.any()
    again = runner.push(noise)
    runner.reset()
    np.testing.assert_array_equal(again, runner.push(noise))


@pytest.mark.any_backend
def test_detector_of_a_file(convert, tmp_path):
    """The same events as of the model, with what the file keeps."""
    labels = [f"word {i}" for i in range(34)] + ["unknown"]
    path = tmp_path / "spotter.tflite"
    path.write_bytes(convert("spotter", labels=labels, **WINDOW).read_bytes())
    kept = tflite.load(path).description["detector"]
    assert kept["thresholds"] == [0.8] * 34 + [None]
    audio = make_audio(32000)[0]
    words = {label: 0.06 for label in labels[:34]}
    tflite.store_detector(path, words, smoothing=0.05, refractory=0.1)
    detector = Detector(tflite.load(path))
    found = detector.push(audio)
    assert found
    model = Detector(
        make_model("spotter"),
        labels,
        0.06,
        window=0.2,
        smoothing=0.05,
        refractory=0.1,
    )
    assert model.settings == detector.settings
    assert_same_events(model.push(audio), found, 1e-3)
    # What is not given stays, and given arguments come first.
    tflite.store_detector(path, {"word 3": 0.5})
    settings = Detector(tflite.load(path), smoothing=0.0).settings
    assert settings["thresholds"] == [0.06] * 3 + [0.5] + [0.06] * 30 + [None]
    assert (settings["smoothing"], settings["refractory"]) == (0.0, 0.1)


@pytest.mark.any_backend
def test_storing_changes_nothing_else(convert, tmp_path):
    path = tmp_path / "spotter.tflite"
    path.write_bytes(convert("spotter", **WINDOW).read_bytes())
    before, audio = tflite.inspect(path), make_audio(4096)[0]
    expected = tflite.load(path).push(audio)
    tflite.store_detector(path, 0.25)
    after = tflite.inspect(path)
    assert after.description.pop("detector")["thresholds"] == [0.25] * 35
    before.description.pop("detector")
    assert json.dumps(after.description) == json.dumps(before.description)
    assert after.operators == before.operators
    np.testing.assert_array_equal(tflite.load(path).push(audio), expected)


@pytest.mark.any_backend
def test_bad_arguments(convert, tmp_path):
    model = make_model("spotter")
    with pytest.raises(ValueError, match="`window` must be None unless"):
        tflite.convert(model, tmp_path / "m.tflite", window=1.0)
    plain = convert("spotter", streaming=True)
    with pytest.raises(ValueError, match="`source` must look back"):
        Detector(tflite.load(plain))
    with pytest.raises(ValueError, match="converted with `window`"):
        tflite.store_detector(plain, 0.5)
    path = convert("spotter", **WINDOW)
    with pytest.raises(ValueError, match="`thresholds` must be"):
        tflite.store_detector(path, {"nobody": 0.5})
    whole = tflite.load(convert("spotter"))
    with pytest.raises(ValueError, match="`push\\(\\)` needs a streaming"):
        whole.push(np.zeros(100))
    enhancer = tflite.load(convert("enhancer", streaming=True))
    with pytest.raises(ValueError, match="`source` must look back"):
        Detector(enhancer)
