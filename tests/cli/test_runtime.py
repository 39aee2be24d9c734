"""The commands on `.tflite` files, where there is no Keras to import."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import soundfile

import keras_duspar
from keras_duspar import cli
from keras_duspar.cli.trained import DEFAULTS
from keras_duspar.losses import ctc_decode
from tests.conftest import ROOT

pytestmark = pytest.mark.any_backend

KEPT = ROOT / "tests" / "kept" / "0.1.0"
TASKS = {"spot": "kws", "understand": "slu", "enhance": "se"}
BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name in ("keras", "tensorflow", "jax", "torch"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocker())
"""
RUN = """
import json, sys
from keras_duspar.cli import main
for arguments in json.loads(sys.argv[1]):
    code = main(arguments)
    assert code == 0, (arguments, code)
assert not {"keras", "tensorflow", "jax", "torch"} & set(sys.modules)
"""


def check_commands(python, folder, before=""):
    """Runs all commands on kept files and compares with what they gave.

    Args:
        python: The interpreter.
        folder: Where to write.
        before: Code that is run first.
    """
    with np.load(KEPT / "expected.npz") as content:
        expected = dict(content)
    wav, clean = str(folder / "a.wav"), str(folder / "b.wav")
    soundfile.write(wav, expected["audio"], 16000, "FLOAT")

    def model(name):
        return ["--model", str(KEPT / f"{name}.tflite")]

    spotter, times = str(KEPT / "spotter.tflite"), folder / "times.json"
    commands = [
        ["spot", wav, *model("spotter"), "--top", "3", "--json"],
        ["understand", wav, *model("recognizer"), "--json"],
        ["enhance", wav, clean, *model("enhancer")],
        ["inspect", spotter, "--json"],
        ["benchmark", spotter, "--table", str(times)],
        ["benchmark", spotter, "--audio", wav, "--seconds", "0.05", "--json"],
    ]
    # Without a model: the presets.
    presets = keras_duspar.models.presets()
    with_default = [
        command
        for command in (
            ["spot", wav, "--json"],
            ["understand", wav, "--json"],
            ["enhance", wav, str(folder / "c.wav"), "--json"],
        )
        if DEFAULTS[TASKS[command[0]]] in presets
    ]
    commands = [["presets"], *with_default, *commands]
    done = subprocess.run(
        [python, "-c", before + RUN, json.dumps(commands)],
        env={k: v for k, v in os.environ.items() if k != "KERAS_BACKEND"},
        cwd=folder,  # not in the repository, whose sources would come first
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[2 : 2 + len(presets)]] == [
        *presets
    ]
    lines = lines[2 + len(presets) :]
    assert with_default
    for line in lines[: len(with_default)]:
        check_default(json.loads(line), expected["audio"])
    lines = lines[len(with_default) :]
    spot, understand, enhance, inspect, *rest = lines
    table, benchmark = rest[:8], rest[8:]

    scores = np.exp(expected["spotter.tflite"].astype("float64"))
    words = {w["word"]: w["score"] for w in json.loads(spot)["words"]}
    found = [words[word] for word in ("yes", "no", "other")]
    np.testing.assert_allclose(found, scores / scores.sum(), atol=1e-4)

    audio = np.pad(expected["audio"], (0, 3 * 4096 - 6144))  # whole groups
    runner = keras_duspar.tflite.load(KEPT / "recognizer.tflite")
    labels, _ = ctc_decode(runner(audio)[np.newaxis])
    assert json.loads(understand)["intents"] == [str(i) for i in labels[0]]

    assert enhance.startswith(f"{clean}: 0.38 s")
    samples, _ = soundfile.read(clean, dtype="float32")
    np.testing.assert_allclose(samples, expected["enhancer.tflite"], atol=2e-5)

    assert json.loads(inspect)["operators"]["DuSpaR"] == 2
    assert [line.split()[0] for line in table[:2]] == ["0", "10"]
    assert len(json.loads(times.read_text())["microseconds"]) == len(table)
    (measured,) = json.loads("".join(benchmark))
    occupancy = expected["spotter.occupancy"]
    assert measured["occupancy"] == pytest.approx(occupancy, abs=0.1)


def check_default(answer, audio):
    """Compares an answer of a default preset with the preset itself."""
    if "words" in answer:
        runner = keras_duspar.tflite.load(DEFAULTS["kws"])
        best = runner.labels[runner(audio).argmax()]
        assert answer["words"][0]["word"] == best
    elif "intents" in answer:
        runner = keras_duspar.tflite.load(DEFAULTS["slu"])
        assert set(answer["intents"]) <= set(runner.labels)
    else:
        clean, _ = soundfile.read(answer["output"], dtype="float32")
        runner = keras_duspar.tflite.load(DEFAULTS["se"], streaming=True)
        np.testing.assert_allclose(clean, runner(audio), atol=2e-5)


def test_keras_and_backends_are_blocked(tmp_path):
    check_commands(sys.executable, tmp_path, BLOCKED)


def test_a_keras_file_says_which_backend_is_missing(tmp_path, capsys):
    code = f"""{BLOCKED}
from keras_duspar.cli import main
sys.exit(main(["spot", "a.wav", "--model", sys.argv[1]]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, KEPT / "spotter.keras"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "is blocked" in done.stderr and done.stderr.count("\n") == 1


def test_presets_by_their_names(capsys):
    """Files of presets are found, and errors name them as they were given."""
    name = DEFAULTS["kws"]
    assert cli.main(["inspect", name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["path"].endswith(f"{name}/streaming.tflite")
    assert cli.main(["benchmark", name, "--seconds", "0.02", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["path"] == name
    for arguments, message in [
        (["enhance", "a.wav", "b.wav", "--model", name], f"{name} spots words"),
        (
            ["listen", "a.wav", "--model", DEFAULTS["se"]],
            "se_duspar_116_everyday e",
        ),
        (["inspect", "nope"], "a preset, one of kws_"),
        (["spot", "a.wav", "--model", "nope"], "or a file or folder that"),
    ]:
        assert cli.main(arguments) == 2
        assert message in capsys.readouterr().err
