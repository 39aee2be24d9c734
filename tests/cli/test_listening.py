"""The commands that listen: words, enhanced sound, false alarms per hour."""

import json
import subprocess
import sys

import numpy as np
import pytest

from keras_duspar import cli
from keras_duspar import models
from keras_duspar import tflite
from keras_duspar.cli.commands import listen
from keras_duspar.cli.trained import DEFAULTS
from keras_duspar.streaming import Detector
from tests.conftest import ROOT
from tests.helpers import randomize
from tests.helpers import skip_unless_deployable
from tests.streaming.shared_events import LABELS
from tests.streaming.shared_events import make_spotter

soundfile = pytest.importorskip("soundfile")
RATE = 44100


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A spotter, an enhancer and a recording."""
    skip_unless_deployable()
    folder = tmp_path_factory.mktemp("listening")
    spotter, enhancer = folder / "kws.tflite", folder / "se.tflite"
    options = {"streaming": True, "window": 0.2, "labels": LABELS}
    tflite.convert(make_spotter(), spotter, task="kws", **options)
    tflite.store_detector(spotter, 0.4, 0.05, 0.2)
    model = models.speech_enhancer("spar", 4, num_layers=1)
    randomize(model, 0.2)
    tflite.convert(model, enhancer, streaming=True, task="se")
    t = np.arange(4 * RATE)
    noise = np.random.default_rng(3).normal(0, 0.1, len(t))
    audio = noise * np.abs(np.sin(t / 9000)) + 0.1 * np.sin(t**1.5 / 3000)
    soundfile.write(folder / "sound.wav", audio, RATE, "FLOAT")
    return folder


def run(*arguments):
    return cli.main([str(argument) for argument in arguments])


def events_of(files):
    audio, _ = soundfile.read(files / "sound.wav", dtype="float32")
    detector = Detector(tflite.load(files / "kws.tflite"))
    found = detector.push(audio, RATE)
    assert len(found) > 3
    # The recording ends with its last word.
    silence = np.zeros(int(listen.SILENCE * RATE), "int16")
    last = detector.push(silence, RATE)
    assert last
    return found + last


def test_words_of_a_file(files, capsys):
    sound, model = files / "sound.wav", files / "kws.tflite"
    assert run("listen", sound, "--model", model, "--fast", "--json") == 0
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    found = [(e["word"], e["end"]) for e in lines]
    assert found == [(e.word, round(e.end, 3)) for e in events_of(files)]
    assert run("listen", sound, "--model", model, "--fast") == 0
    first = capsys.readouterr().out.splitlines()[0]
    event = events_of(files)[0]
    assert first.split()[-2:] == [event.word, f"{event.confidence:.3f}"]


def test_words_of_the_standard_input(files):
    audio, _ = soundfile.read(files / "sound.wav")
    audio = np.round(32768 * audio).astype("<i2")
    done = subprocess.run(
        [sys.executable, "-c", "from keras_duspar.cli import main; main()"]
        + ["listen", "-", "--rate", str(RATE), "--json"]
        + ["--model", str(files / "kws.tflite")],
        input=audio.tobytes(),
        capture_output=True,
        cwd=ROOT,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    words = [event.word for event in events_of(files)]
    assert [event["word"] for event in found] == words
    assert all(0 < event["occupancy"] <= 1 for event in found)
    assert all(-90 <= event["level"] < 0 for event in found)
    assert all(event["processor"] > 0 for event in found)


def test_enhanced_sound(files, tmp_path, capsys):
    """Written at the model's rate, beside the words."""
    clean = tmp_path / "clean.wav"
    code = run(
        *("listen", files / "sound.wav", "--model", files / "kws.tflite"),
        *("--enhance", files / "se.tflite", "--output", clean, "--fast"),
    )
    assert code == 0
    assert len(capsys.readouterr().out.splitlines()) == len(events_of(files))
    found, rate = soundfile.read(clean, dtype="float32")
    audio, _ = soundfile.read(files / "sound.wav", dtype="float32")
    runner = tflite.load(files / "se.tflite")
    expected = np.concatenate(runner.push(audio, RATE))[runner.delay :]
    assert rate == 16000 and abs(len(found) - len(expected)) <= 16
    length = min(len(found), len(expected))
    np.testing.assert_allclose(found[:length], expected[:length], atol=1e-4)


def test_presets(files, tmp_path, capsys):
    """Without a model, the preset listens; by its name, too."""
    sound = files / "sound.wav"
    audio, _ = soundfile.read(sound, dtype="float32")
    detector = Detector(tflite.load(DEFAULTS["kws"], streaming=True), None, 0.5)
    words = [event.word for event in detector.push(audio, RATE)]
    assert words
    for model in ([], ["--model", DEFAULTS["kws"]]):
        assert run("listen", sound, "--fast", "--threshold", "0.5", *model) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[-2] for line in lines] == words
    clean = tmp_path / "clean.wav"
    enhance = ("--enhance", DEFAULTS["se"], "--output", clean)
    assert run("listen", sound, "--fast", *enhance) == 0
    assert soundfile.info(clean).frames > 3.9 * 16000


def test_errors(files, capsys):
    sound, model = files / "sound.wav", files / "kws.tflite"
    for arguments, message in [
        (["listen", sound, "--model", "run"], "`--model` must be a preset"),
        (["listen", sound, "--enhance", files], "`--enhance` must be the name"),
        (["listen", "--model", model, "--output", "x.wav"], "`--enhance`"),
        (["listen", sound, "--model", files / "se.tflite"], "enhances speech"),
        (["listen", sound, "--enhance", model], "spots words"),
        (["listen", "no.wav", "--model", model], "no.wav"),
        (
            ["listen", "-", "--model", "none.tflite"],
            "none.tflite does not exist",
        ),
    ]:
        assert run(*arguments) == 2
        assert message in capsys.readouterr().err


def test_the_recording_is_not_overwritten(files, tmp_path, capsys):
    sound = tmp_path / "sound.wav"
    sound.write_bytes((files / "sound.wav").read_bytes())
    before = sound.read_bytes()
    other = tmp_path / "other.wav"
    other.write_bytes(before)
    command = ("listen", sound, "--fast", "--enhance", files / "se.tflite")
    for more in ([], ["--overwrite"]):
        assert run(*command, "--output", sound, *more) == 2
        assert "is the recording itself" in capsys.readouterr().err
    assert run(*command, "--output", other) == 2
    assert "`--overwrite` replaces it" in capsys.readouterr().err
    assert sound.read_bytes() == other.read_bytes() == before
    assert run(*command, "--output", other, "--overwrite") == 0
    assert other.read_bytes() != before


def test_silence_is_told(tmp_path, capsys):
    soundfile.write(tmp_path / "zeros.wav", np.zeros(8000), 16000)
    assert run("listen", tmp_path / "zeros.wav", "--fast") == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no word was heard in 0.5 s" in captured.err


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Folders of speech and of words: noise of other levels."""
    folder = tmp_path_factory.mktemp("recordings")
    rng = np.random.default_rng(4)

    def write(path, seconds):
        path.parent.mkdir(exist_ok=True, parents=True)
        loud = np.abs(np.sin(np.arange(16000 * seconds) / 5000))
        soundfile.write(path, rng.normal(0, 0.1, len(loud)) * loud, 16000)

    for i in range(6):
        write(folder / "speech" / f"{i}.wav", 10)
        write(folder / "keywords" / "yes" / f"{i}.wav", 1)
        write(folder / "keywords" / "no" / f"{i}.wav", 1)
    (folder / "list.txt").write_text("yes/1.wav\nno/2.wav\nno/3.wav\n")
    return folder


def test_evaluate_stream(files, recordings, tmp_path, capsys):
    model = tmp_path / "kws.tflite"
    model.write_bytes((files / "kws.tflite").read_bytes())
    command = [
        *("evaluate-stream", model, "--speech", recordings / "speech"),
        *("--keywords", recordings / "keywords"),
    ]
    assert run(*command, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["hours"] == pytest.approx(60 / 3600, rel=0.01)
    assert {w: c["spoken"] for w, c in found["words"].items()} == {
        "yes": 6,
        "no": 6,
    }
    assert sum(c["alarms"] for c in found["words"].values()) > 4
    # Thresholds for at most one false alarm in this minute are kept.
    plot = tmp_path / "det.png"
    assert run(*command, "--rate", "70", "--store", "--plot", plot) == 0
    table = capsys.readouterr().out
    kept = tflite.load(model).description["detector"]["thresholds"]
    assert kept[2:] == [None, None] and f"{kept[0]:.6f}" in table
    assert run(*command, "--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert all(c["alarms"] <= 1 for c in again["words"].values())
    assert [c["threshold"] for c in again["words"].values()] == kept[:2]
    assert plot.stat().st_size > 1000
    listed = ("--list", recordings / "list.txt", "--json")
    assert run(*command, *listed) == 0
    found = json.loads(capsys.readouterr().out)["words"]
    assert [c["spoken"] for c in found.values()] == [1, 2]


def test_evaluate_stream_errors(files, recordings, tmp_path, capsys):
    model, folder = files / "kws.tflite", recordings
    for arguments, message in [
        ((model, folder, folder / "none"), "no recordings of: no, yes"),
        ((model, folder / "none", folder / "keywords"), "is not a folder"),
        ((model, tmp_path, folder / "keywords"), "no recordings there"),
        ((files / "se.tflite", folder, folder), "enhances speech"),
    ]:
        path, speech, keywords = arguments
        options = ("--speech", speech, "--keywords", keywords)
        assert run("evaluate-stream", path, *options) == 2
        assert message in capsys.readouterr().err
