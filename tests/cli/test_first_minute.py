"""What somebody sees who runs the commands for the first time."""

import os
import subprocess
import sys

import numpy as np
import pytest
import soundfile

from keras_duspar import models
from keras_duspar import tflite
from keras_duspar.cli import chatter
from keras_duspar.cli import main
from keras_duspar.cli.trained import DEFAULTS
from keras_duspar.models import preset_files
from keras_duspar.models import preset_texts
from tests.conftest import ROOT

pytestmark = pytest.mark.any_backend


@pytest.fixture
def recording(tmp_path):
    noise = np.random.default_rng(0).normal(0, 0.1, 16000)
    soundfile.write(tmp_path / "word.wav", noise, 16000)
    return tmp_path / "word.wav"


def test_no_command_shows_the_help(capsys):
    assert main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    for line in ("To begin: ", "spot", "enhance", "presets"):
        assert line in captured.err


@pytest.mark.parametrize("keras", [False, True])
def test_nothing_but_the_answer(keras, recording):
    """What LiteRT and the backends say of themselves is left out."""
    name = DEFAULTS["kws"]
    if keras:
        name = preset_files.FOLDER / name / preset_files.KERAS
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow"}
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)
    done = subprocess.run(
        [sys.executable, "-c", "from keras_duspar.cli import main; main()"]
        + ["spot", recording, "--model", name],
        env=environment,
        capture_output=True,
        cwd=ROOT,
        text=True,
    )
    assert done.returncode == 0 and done.stdout.startswith(str(recording))
    assert done.stderr == ""


def test_only_chatter_is_left_out(capfd):
    with chatter.without_chatter():
        os.write(2, b"INFO: Created a delegate.\nERROR: this stays\n")
        os.write(2, b"I0000 00:00:1.2 3 port.cc:1] on\nW0000 00:0 a.cc:1] b\n")
        os.write(2, b"E0000 00:00:1.2 3 cuda_platform.cc:52] failed\n")
        os.write(2, b"E0000 00:00:1.2 3 loader.cc:5] this, too\n")
    assert capfd.readouterr().err.splitlines() == [
        "ERROR: this stays",
        "E0000 00:00:1.2 3 loader.cc:5] this, too",
    ]


def test_messages_survive_an_error(capfd):
    with pytest.raises(ValueError), chatter.without_chatter():
        os.write(2, b"INFO: no\nthe reason\n")
        raise ValueError
    assert capfd.readouterr().err == "the reason\n"


def test_enhance_makes_the_folder(recording, tmp_path, capsys):
    folder = tmp_path / "new" / "cleaned"
    assert main(["enhance", str(recording), "--out", str(folder)]) == 0
    assert "1 channel at 16000 Hz" in capsys.readouterr().out
    assert soundfile.info(folder / "word.wav").frames == 16000
    assert main(["enhance", str(recording), "--out", str(recording)]) == 2
    assert "`--out` must be a folder" in capsys.readouterr().err


def test_cards_fit_the_terminal():
    for name in models.presets():
        card = models.preset_card(name)
        whole, narrow = (preset_texts.card_text(card, n) for n in (None, 80))
        assert max(map(len, narrow.splitlines())) <= 80
        assert narrow.split() == whole.split()


def test_list_of_presets_fits_the_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["presets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    for name, what in models.presets().items():
        begin = next(i for i, x in enumerate(lines) if x.startswith(name + " "))
        assert lines[begin].split()[2] == what.split()[0]
        assert what.split()[-1] in " ".join(lines[begin:])


def test_inspect_names_the_type_of_weights():
    """Files keep bfloat16 in tensors of int16."""
    path = preset_files.FOLDER / DEFAULTS["kws"] / preset_files.WHOLE
    text = str(tflite.inspect(path))
    assert text.count("128 units, bfloat16 weights") == 2
    assert "int16" not in text


def test_evaluate_stream_takes_a_preset(recording, tmp_path, capsys):
    for word in ("yes", "no", "up", "down", "left", "right", "on", "off"):
        (tmp_path / "words" / word).mkdir(parents=True)
    for word in ("stop", "go"):
        (tmp_path / "words" / word).mkdir()
    noise, rate = soundfile.read(recording)
    for folder in (tmp_path / "words").iterdir():
        soundfile.write(folder / "a.wav", noise, rate)
    (tmp_path / "speech").mkdir()
    soundfile.write(tmp_path / "speech" / "a.wav", np.tile(noise, 12), rate)
    arguments = [
        *("evaluate-stream", DEFAULTS["kws"]),
        *("--speech", str(tmp_path / "speech")),
        *("--keywords", str(tmp_path / "words")),
    ]
    assert main(arguments) == 0
    assert "missed" in capsys.readouterr().out
    assert main([*arguments, "--store"]) == 2
    assert "`--store` needs a .tflite file" in capsys.readouterr().err
