"""The example in C that listens: words or enhanced sound of what comes in."""

import io
import os
import pathlib
import subprocess

import numpy as np
import pytest

import keras_duspar
from keras_duspar import native
from keras_duspar.streaming import Event
from tests.conftest import ROOT
from tests.kits.comparison import RATE
from tests.kits.comparison import expected_events
from tests.kits.comparison import kept_file
from tests.kits.comparison import make_recording
from tests.kits.tools import program
from tests.streaming.shared_events import assert_same_events

pytestmark = pytest.mark.any_backend


@pytest.fixture(scope="module")
def listen(tmp_path_factory, tflite_c):
    """Runs the example on bytes; returns what it writes, as bytes."""
    compiler = program("cc", "gcc")
    library = pathlib.Path(native.library_path())
    app = tmp_path_factory.mktemp("listen") / "listen"
    command = [
        *(compiler, "-std=c11", "-Wall", "-Wextra", "-Werror"),
        *(ROOT / "tflite/examples/listen.c", "-o", app),
        *("-I", ROOT / "tflite/include", "-I", tflite_c.include),
        *(library, tflite_c.library, "-lm"),
    ]
    subprocess.run(list(map(str, command)), check=True)
    places = f"{library.parent}:{tflite_c.library.parent}"

    def run(given, *arguments):
        return subprocess.run(
            [str(app), *map(str, arguments)],
            input=given,
            capture_output=True,
            check=True,
            env={**os.environ, "LD_LIBRARY_PATH": places},
        ).stdout

    return run


def wav(audio, rate, subtype):
    soundfile = pytest.importorskip("soundfile")
    file = io.BytesIO()
    soundfile.write(file, audio, rate, subtype, format="WAV")
    return file.getvalue()


@pytest.mark.parametrize("subtype", ["PCM_16", "FLOAT"])
def test_words_of_a_wav_file(listen, listening_spotter, subtype):
    audio = make_recording()
    stereo = np.stack([1.5 * audio, 0.5 * audio], axis=1) / 2
    output = listen(wav(2 * stereo, RATE, subtype), listening_spotter)
    found = []
    for line in output.decode().splitlines():
        start, end, word, confidence = line.split()
        found.append(Event(word, float(start), float(end), float(confidence)))
    assert_same_events(found, expected_events(listening_spotter), 0.05)


def test_enhanced_sound(listen):
    """Raw samples in, the runner's own sound out."""
    path = kept_file("enhancer")
    audio = (make_recording() * 32768).astype("int16")[:64000]
    found = np.frombuffer(listen(audio.tobytes(), path, 16000), "float32")
    runner = keras_duspar.tflite.load(path)
    expected = np.concatenate(runner.push(audio))[runner.delay :]
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_nothing_spoils_a_stream(listen):
    """Silence, clipping, direct current, NaN, infinity, tiny numbers."""
    path = kept_file("enhancer")
    noise = make_recording()[:8000]
    odd = (0, 1, 1e6, np.nan, np.inf, -np.inf, 1e-30)
    sounds = [noise, *(np.full(8000, x) for x in odd), noise]
    audio = np.concatenate(sounds).astype("float32")
    found = np.frombuffer(listen(wav(audio, 16000, "FLOAT"), path), "float32")
    runner = keras_duspar.tflite.load(path)
    expected = np.concatenate(runner.push(audio))[runner.delay :]
    assert np.isfinite(found).all() and np.ptp(found[-4000:]) > 0
    np.testing.assert_allclose(found, expected, atol=2e-5)
