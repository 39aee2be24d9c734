"""What goes wrong is told in one line, and nothing is left half done."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import soundfile

from keras_duspar.cli import main
from tests.conftest import ROOT

pytestmark = pytest.mark.any_backend


@pytest.fixture
def files(tmp_path):
    """A folder of good and bad recordings."""
    noise = np.random.default_rng(1).normal(0, 0.1, 48000)
    soundfile.write(tmp_path / "good.wav", noise, 16000)
    soundfile.write(tmp_path / "short.wav", noise[:99], 16000)
    soundfile.write(tmp_path / "none.wav", noise[:0], 16000)
    noise[40000] = np.nan
    soundfile.write(tmp_path / "nan.wav", noise, 16000, "FLOAT")
    noise[40000] = 50
    soundfile.write(tmp_path / "loud.wav", noise, 16000, "FLOAT")
    (tmp_path / "empty.wav").touch()
    (tmp_path / "text.wav").write_text("no audio at all")
    (tmp_path / "text.keras").write_text("no model at all")
    (tmp_path / "three.json").write_text(json.dumps(["a", "b", "c"]))
    (tmp_path / "object.json").write_text(json.dumps({"a": 1}))
    (tmp_path / "doubled.txt").write_text("a\nb\nc\nd\na\n")
    (tmp_path / "voice.m4a").write_bytes(b"\0\0\0\x20ftypM4A \0\0\0\0")
    (tmp_path / "folder.wav").mkdir()
    return tmp_path


def fails(capsys, *arguments):
    """Runs a command that must fail, and returns what it says."""
    assert main([str(a) for a in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"keras-duspar {arguments[0]}: ")
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize(
    "name, message",
    [
        ("missing.wav", "missing.wav does not exist"),
        ("folder.wav", "is not a file"),
        ("empty.wav", "is empty"),
        ("none.wav", "holds no samples"),
        ("text.wav", "is not an audio file"),
        ("nan.wav", "NaN or infinite"),
        ("loud.wav", "samples up to 50, where full scale is 1"),
        ("short.wav", "too short"),
        ("voice.m4a", "is an MPEG-4 file"),
        ("voice.m4a", "voice.m4a voice.wav`, on a Mac also `afconvert"),
    ],
)
def test_bad_recordings(name, message, files, trained, capsys):
    _, runs = trained
    for command, task in (("spot", "kws"), ("understand", "slu")):
        path = files / name
        error = fails(capsys, command, path, "--model", runs / task)
        assert message in error


def test_bad_models(files, trained, capsys):
    _, runs = trained
    good = files / "good.wav"

    def spot(*arguments):
        return fails(capsys, "spot", good, "--model", *arguments)

    assert "there is no model" in spot(files / "no.keras")
    assert "there is no model" in spot(files)
    whole = (runs / "kws" / "model.keras").read_bytes()
    (files / "cut.keras").write_bytes(whole[: len(whole) // 2])
    for name in ("text.keras", "cut.keras"):
        assert f"{name} is damaged or not a .keras file" in spot(files / name)
    with zipfile.ZipFile(files / "other.keras", "w") as archive:
        archive.writestr("a", "b")
    assert "cannot be loaded" in spot(files / "other.keras")
    error = spot(good)
    assert "`--model`" in error and ".tflite" in error and str(good) in error
    (files / "a.tflite").write_bytes(b"\0\0\0\0TFL3")
    assert "a.tflite" in spot(files / "a.tflite")
    error = fails(capsys, "convert", files / "a.tflite", files / "b.tflite")
    assert "`model`" in error and "Received: " in error
    assert "a model for `keras-duspar enhance`" in spot(runs / "se")
    # Without config.json the model's name tells the task.
    assert "recognizes intents" in spot(runs / "slu" / "model.keras")
    kws = [runs / "kws", "--labels"]
    assert "has 3 labels" in spot(*kws, files / "three.json")
    assert "has 1 labels" in spot(*kws, files / "object.json")
    assert "Doubled: ['a']" in spot(*kws, files / "doubled.txt")
    assert "cannot be read" in spot(*kws, files / "no.json")
    run = files / "run"
    run.mkdir()
    shutil.copy(runs / "kws" / "model.keras", run)
    (run / "config.json").write_text('{"task": "tts"}')
    assert "does not say what it is for" in spot(run)
    (run / "config.json").write_text("{")
    assert "not valid JSON" in spot(run)


def test_bad_outputs(files, trained, capsys):
    _, runs = trained
    model = ["--model", runs / "se"]
    good = files / "good.wav"
    for clean, message in (
        (files / "no" / "a.wav", "No such file or directory"),
        (files / "a.txt", "its suffix must be"),
        (files / "folder.wav", "is a folder"),
    ):
        error = fails(capsys, "enhance", good, clean, *model)
        assert "cannot be written" in error and message in error
    # Neither the recording itself, by any name, nor another file.
    before = good.read_bytes()
    (files / "link.wav").symlink_to(good)
    for clean in (good, files / "link.wav"):
        for more in ([], ["--overwrite"]):
            error = fails(capsys, "enhance", good, clean, *model, *more)
            assert "is the recording itself" in error
    error = fails(capsys, "enhance", good, files / "short.wav", *model)
    assert "short.wav exists: `--overwrite` replaces it" in error
    assert good.read_bytes() == before
    for many in (
        [good],
        [good, files / "b.wav", files / "c.wav"],
    ):
        assert "`--out FOLDER`" in fails(capsys, "enhance", *many, *model)
    out = ["--out", files]
    error = fails(capsys, "enhance", good, *model, "--out", good)
    assert "`--out` must be a folder" in error
    error = fails(capsys, "enhance", good, good, *model, *out)
    assert "different names" in error
    assert "spots words" in fails(
        capsys, "enhance", good, files / "a.wav", "--model", runs / "kws"
    )


def test_nothing_is_left_of_a_failed_output(files, trained, capsys):
    _, runs = trained
    before = sorted(os.listdir(files))
    arguments = ["--model", runs / "se"]
    error = fails(
        capsys, "enhance", files / "nan.wav", files / "out.wav", *arguments
    )
    assert "NaN or infinite" in error
    assert sorted(os.listdir(files)) == before
    # What was there before stays.
    good = (files / "good.wav").read_bytes()
    arguments += ["--overwrite"]
    fails(capsys, "enhance", files / "nan.wav", files / "good.wav", *arguments)
    assert (files / "good.wav").read_bytes() == good


@pytest.mark.parametrize("package", ["soundfile", "soxr"])
def test_packages_that_are_missing(
    package, files, trained, capsys, monkeypatch
):
    _, runs = trained
    soundfile.write(files / "8k.wav", np.zeros(8000), 8000)
    monkeypatch.setitem(sys.modules, package, None)
    error = fails(capsys, "spot", files / "8k.wav", "--model", runs / "kws")
    assert f"`{package}`" in error
    assert "pip install keras-duspar[runtime]" in error


@pytest.mark.parametrize(
    "arguments", [["spot"], ["convert", "a.keras"], ["sing", "a.wav"]]
)
def test_bad_command_lines(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: keras-duspar" in capsys.readouterr().err


SPOT = ["spot", "a.wav", "--model", "b"]


@pytest.mark.parametrize(
    "command, option",
    [
        (SPOT, ["--top", "0"]),
        (SPOT, ["--every", "-1"]),
        (SPOT, ["--window", "nan"]),
        (SPOT, ["--threshold", "7"]),
        (SPOT, ["--threshold", "-0.1"]),
        (SPOT, ["--threshold", "nan"]),
        (["benchmark", "a.tflite"], ["--threads", "0"]),
        (["benchmark", "a.tflite"], ["--seconds", "0"]),
        (["convert", "a.keras", "a.tflite"], ["--frames", "0"]),
    ],
)
def test_bad_options(command, option, capsys):
    with pytest.raises(SystemExit):
        main([*command, *option])
    assert f"argument {option[0]}: {option[1]} is not" in (
        capsys.readouterr().err
    )


PYTHON = [sys.executable, "-c"]
SCRIPT = str(pathlib.Path(sys.executable).with_name("keras-duspar"))
RECIPE = [sys.executable, str(ROOT / "recipes" / "kws.py"), "-h"]


@pytest.mark.parametrize(
    "command, begins, code",
    [
        ([SCRIPT, "spot", "a.wav"], "keras-duspar spot: ", 2),
        (RECIPE, "kws.py: ", 1),
        ([*PYTHON, "from keras_duspar import DuSpaR"], "ImportError: ", 1),
        ([*PYTHON, "import keras_duspar; import keras"], "ImportError: ", 1),
    ],
)
def test_backend_that_does_not_exist(command, begins, code, trained):
    _, runs = trained
    if command[0] == SCRIPT:
        command = [*command, "--model", str(runs / "kws")]
    done = subprocess.run(
        command,
        env={**os.environ, "KERAS_BACKEND": "tensorflo"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    *before, line = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (code, "")
    assert line.startswith(f"{begins}`KERAS_BACKEND` must be tensorflow, jax")
    assert "'tensorflo'" in line
    assert command[0] == sys.executable and command[1] == "-c" or not before


def test_backend_that_is_not_installed(monkeypatch):
    from keras_duspar import startup

    for name in startup.BACKENDS:
        assert startup.problem(name) is None
    monkeypatch.setitem(sys.modules, "torch", None)
    message = startup.problem("torch", "`--backend`")
    assert message.startswith("`--backend` must be")
    assert message.endswith(
        "Received: 'torch', which is not: `pip install torch`."
    )


def test_only_the_command_changes_what_tensorflow_logs():
    code = """
import os, sys
os.environ.pop("TF_CPP_MIN_LOG_LEVEL", None)
import keras_duspar.tflite, keras_duspar.cli
assert "TF_CPP_MIN_LOG_LEVEL" not in os.environ
assert keras_duspar.cli.main(["inspect", "none.tflite"]) == 2
assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == "2"
"""
    subprocess.run([*PYTHON, code], check=True, capture_output=True)


MEMORY = """
import resource
import sys
import numpy as np
import soundfile
from keras_duspar.cli import main

folder, model = sys.argv[1:]
block = np.random.default_rng(1).integers(-999, 999, 8000 * 60)
block = block.astype("int16")
for minutes in (2, 32):
    noisy, clean = f"{folder}/noisy.wav", f"{folder}/clean.wav"
    with soundfile.SoundFile(noisy, "w", 8000, 1) as file:
        for _ in range(minutes):
            file.write(block)
    files = [noisy, clean, "--overwrite"]
    assert main(["enhance", *files, "--model", model]) == 0
    assert soundfile.info(clean).frames == minutes * 60 * 8000
    print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def test_memory_does_not_grow_with_the_recording(tmp_path):
    """Half an hour takes no more than two minutes."""
    from keras_duspar import models

    model = models.speech_enhancer(
        "spar", 2, num_layers=1, frame_length=4096, hop_length=4096
    )
    model.save(tmp_path / "model.keras")
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, tmp_path, tmp_path / "model.keras"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    short, long = (int(x.split()[1]) for x in lines if x.startswith("peak"))
    # 32 minutes at 16 kHz are 117 MB in float32.
    assert long - short < 25, (short, long)
