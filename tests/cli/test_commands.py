"""The commands say what the models say, whatever the file."""

import importlib.metadata
import io
import json
import shutil

import numpy as np
import pytest
import soundfile
import soxr

from keras_duspar import models
from keras_duspar.cli import main
from keras_duspar.cli import trained as trained_models
from keras_duspar.losses import ctc_decode
from keras_duspar.models import preset_files
from tests.cli.conftest import INTENTS
from tests.cli.conftest import WORDS
from tests.helpers import to_numpy


def softmax(logits):
    scores = np.exp(logits - logits.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True)


def command(capsys, *arguments):
    """Runs a command that must succeed, and returns what it prints."""
    code = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return captured.out


@pytest.fixture
def noise(rng):
    """Returns noise whose character changes, of shape `(samples, channels)`."""

    def make(seconds, rate, channels=1):
        samples = round(seconds * rate)
        level = 0.02 + 0.1 * np.arange(samples) / samples
        audio = rng.normal(size=(samples, channels)) * level[:, np.newaxis]
        return audio.astype("float32")

    return make


FILES = [
    ("a.wav", 16000, 1, "PCM_16"),
    ("a.wav", 44100, 2, "PCM_24"),
    ("a.flac", 8000, 1, None),
]


@pytest.mark.any_backend
@pytest.mark.parametrize("name, rate, channels, subtype", FILES)
def test_spot(name, rate, channels, subtype, trained, noise, tmp_path, capsys):
    built, runs = trained
    path = tmp_path / name
    soundfile.write(path, noise(1.3, rate, channels), rate, subtype)
    printed = command(
        capsys, "spot", path, "--model", runs / "kws", "--top", 5, "--json"
    )
    audio, _ = soundfile.read(path, dtype="float32", always_2d=True)
    if rate != 16000:
        audio = soxr.resample(audio, rate, 16000)
    audio = audio.mean(axis=1)[np.newaxis].astype("float32")
    expected = softmax(to_numpy(built["kws"](audio))[0])
    answer = json.loads(printed)
    assert answer["file"] == str(path)
    found = {w["word"]: w["score"] for w in answer["words"]}
    np.testing.assert_allclose(
        [found[word] for word in WORDS], expected, atol=2e-3
    )
    assert list(found.values()) == sorted(found.values(), reverse=True)


@pytest.mark.any_backend
def test_spot_prints_the_best_word_of_every_file(
    trained, noise, tmp_path, capsys
):
    built, runs = trained
    lines = []
    for name in ("a.wav", "b.wav"):
        audio = noise(1, 16000)
        soundfile.write(tmp_path / name, audio, 16000, "FLOAT")
        scores = softmax(to_numpy(built["kws"](audio.T))[0])
        best = WORDS[scores.argmax()]
        lines.append(f"{tmp_path / name}  {best} {scores.max():.3f}")
    printed = command(
        capsys,
        "spot",
        tmp_path / "a.wav",
        tmp_path / "b.wav",
        "--model",
        runs / "kws",
    )
    assert printed.splitlines() == lines


@pytest.mark.any_backend
def test_spot_in_windows(trained, noise, tmp_path, capsys):
    built, runs = trained
    audio = noise(2.6, 16000)
    soundfile.write(tmp_path / "a.wav", audio, 16000, "FLOAT")
    arguments = ["--model", runs / "kws", "--every", 0.5, "--window", 1]
    printed = command(capsys, "spot", tmp_path / "a.wav", *arguments, "--json")
    answers = [json.loads(line) for line in printed.splitlines()]
    starts = [0, 0.5, 1, 1.5, 1.6]  # the last ends with the recording
    assert [a["start"] for a in answers] == pytest.approx(starts)
    assert [a["end"] for a in answers] == pytest.approx(np.add(starts, 1))
    for start, answer in zip(starts, answers):
        window = audio.T[:, round(16000 * start) :][:, :16000]
        scores = softmax(to_numpy(built["kws"](window))[0])
        assert answer["words"][0]["word"] == WORDS[scores.argmax()]
        assert answer["words"][0]["score"] == pytest.approx(
            scores.max(), abs=2e-4
        )
    printed = command(
        capsys, "spot", tmp_path / "a.wav", *arguments, "--threshold", 0.9999
    )
    assert printed == ""


def test_understand(trained, noise, tmp_path, capsys):
    built, runs = trained
    audio = noise(2.7, 16000)
    soundfile.write(tmp_path / "a.wav", audio, 16000, "FLOAT")
    # 42.2 groups of frames: silence fills the last one and one more.
    filled = np.pad(audio.T, [(0, 0), (0, 44 * 1024 - len(audio))])
    labels, scores = ctc_decode(built["slu"](filled))
    expected = [INTENTS[i] for i in labels[0]]
    assert expected  # else the test says little
    arguments = ["understand", tmp_path / "a.wav", "--model", runs / "slu"]
    printed = command(capsys, *arguments)
    assert printed == f"{tmp_path / 'a.wav'}  {'  '.join(expected)}\n"
    answer = json.loads(command(capsys, *arguments, "--json"))
    assert answer["intents"] == expected
    assert answer["log_probability"] == pytest.approx(scores[0], abs=1e-2)


def test_enhance(trained, noise, tmp_path, capsys):
    built, runs = trained
    audio = noise(2.3, 16000)
    soundfile.write(tmp_path / "a.wav", audio, 16000, "FLOAT")
    out = tmp_path / "b.wav"
    printed = command(
        capsys, "enhance", tmp_path / "a.wav", out, "--model", runs / "se"
    )
    assert printed.startswith(f"{out}: 2.30 s")
    clean, rate = soundfile.read(out, dtype="float32")
    assert rate == 16000 and soundfile.info(out).subtype == "FLOAT"
    expected = to_numpy(built["se"](audio.T))[0]
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(clean, expected, atol=1e-5)


@pytest.mark.parametrize("name, rate, channels, subtype", FILES[1:])
def test_enhance_keeps_rate_channels_and_length(
    name, rate, channels, subtype, trained, noise, tmp_path, capsys
):
    built, runs = trained
    noisy = tmp_path / name
    soundfile.write(noisy, noise(1.337, rate, channels), rate, subtype)
    copy = tmp_path / f"copy{noisy.suffix}"
    copy.write_text("something else")
    arguments = ["enhance", noisy, copy, "--model", runs / "se", "--overwrite"]
    answer = json.loads(command(capsys, *arguments, "--json"))
    assert answer["file"] == str(noisy) and answer["output"] == str(copy)
    assert answer["sample_rate"] == rate and answer["channels"] == channels
    before, after = soundfile.info(noisy), soundfile.info(copy)
    for key in ("samplerate", "channels", "frames", "subtype", "format"):
        assert getattr(after, key) == getattr(before, key)
    audio, _ = soundfile.read(noisy, dtype="float32", always_2d=True)
    clean, _ = soundfile.read(copy, dtype="float32", always_2d=True)
    heard = soxr.resample(audio, rate, 16000).astype("float32")
    expected = to_numpy(built["se"](heard.T)).T
    expected = soxr.resample(expected, 16000, rate)[: len(audio)]
    np.testing.assert_allclose(clean[: len(expected)], expected, atol=1e-3)
    assert np.abs(expected).max() > 0.01


@pytest.mark.any_backend
def test_tflite_files_say_the_same(trained, deployed, noise, tmp_path, capsys):
    _, runs = trained
    path = tmp_path / "a.wav"
    soundfile.write(path, noise(1.7, 44100, 2), 44100, "FLOAT")

    def answers(*arguments):
        for model in (runs / "MODEL", deployed / "MODEL.tflite"):
            task = {"spot": "kws", "understand": "slu"}[arguments[0]]
            model = str(model).replace("MODEL", task)
            printed = command(capsys, *arguments, "--model", model, "--json")
            yield [json.loads(line) for line in printed.splitlines()]

    for options in ([], ["--every", 0.5]):
        keras, tflite = answers("spot", path, "--top", 5, *options)
        assert len(keras) == len(tflite) == (3 if options else 1)
        for a, b in zip(keras, tflite):
            assert [w["word"] for w in a["words"]] == [
                w["word"] for w in b["words"]
            ]
            assert [w["score"] for w in a["words"]] == pytest.approx(
                [w["score"] for w in b["words"]], abs=2e-4
            )
            assert a.get("start") == b.get("start")
    (keras,), (tflite,) = answers("understand", path)
    assert keras["intents"] == tflite["intents"]
    assert keras["log_probability"] == pytest.approx(
        tflite["log_probability"], abs=1e-2
    )
    clean = []
    for model in (runs / "se", deployed / "se.tflite"):
        out = tmp_path / "out.wav"
        command(capsys, "enhance", path, out, "--model", model, "--overwrite")
        clean.append(soundfile.read(out, dtype="float32")[0])
    np.testing.assert_allclose(*clean, atol=1e-4)
    assert np.abs(clean[0]).max() > 0.01


@pytest.mark.any_backend
def test_tflite_files_for_another_command(trained, deployed, tmp_path, capsys):
    soundfile.write(tmp_path / "a.wav", np.zeros(16000), 16000)
    arguments = ["spot", tmp_path / "a.wav", "--model", deployed / "se.tflite"]
    assert main([str(a) for a in arguments]) == 2
    assert "`keras-duspar enhance`" in capsys.readouterr().err
    soundfile.write(tmp_path / "b.wav", np.zeros(99), 16000)
    for name, task in (("spot", "kws"), ("understand", "slu")):
        model = deployed / f"{task}.tflite"
        arguments = [name, str(tmp_path / "b.wav"), "--model", str(model)]
        assert main(arguments) == 2
        assert "too short" in capsys.readouterr().err


@pytest.mark.any_backend
def test_a_bad_file_is_named_and_the_others_are_heard(
    trained, noise, tmp_path, capsys
):
    _, runs = trained
    paths = [str(tmp_path / name) for name in ("a.wav", "b.wav", "c.wav")]
    for path in (paths[0], paths[2]):
        soundfile.write(path, noise(1, 16000), 16000)
    for name, task in (("spot", "kws"), ("understand", "slu")):
        assert main([name, *paths, "--model", str(runs / task), "--json"]) == 1
        captured = capsys.readouterr()
        heard = [json.loads(line)["file"] for line in captured.out.splitlines()]
        assert heard == [paths[0], paths[2]]
        assert captured.err.startswith(f"keras-duspar {name}: {paths[1]} does")
        assert captured.err.count("\n") == 1
    out = tmp_path / "out"
    out.mkdir()
    arguments = [*paths, "--model", str(runs / "se"), "--out", str(out)]
    assert main(["enhance", *arguments]) == 1
    assert "b.wav does not exist" in capsys.readouterr().err
    assert sorted(p.name for p in out.iterdir()) == ["a.wav", "c.wav"]
    # All of them bad, or there already: an error as of one file.
    assert main(["enhance", *arguments]) == 2
    assert capsys.readouterr().err.count("a.wav exists: `--overwrite`") == 1


@pytest.mark.any_backend
def test_standard_input(trained, noise, tmp_path, capsys, monkeypatch):
    _, runs = trained
    path = tmp_path / "a.wav"
    soundfile.write(path, noise(1, 16000), 16000)

    def answer(*arguments):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(path.open("rb")))
        return command(capsys, *arguments)

    model = ["--model", runs / "kws"]
    assert answer("spot", "-", *model) == answer("spot", path, *model).replace(
        str(path), "-"
    )
    answer("enhance", "-", tmp_path / "b.wav", "--model", runs / "se")
    assert soundfile.info(tmp_path / "b.wav").frames == 16000
    path.write_bytes(b"")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(path.open("rb")))
    assert main(["spot", "-", "--model", str(runs / "kws")]) == 2
    assert "(the standard input) is empty" in capsys.readouterr().err


@pytest.fixture
def preset(deployed, trained, tmp_path, monkeypatch):
    """The keyword spotter as the only preset, the default of its command."""
    folder = tmp_path / "presets" / "small"
    folder.mkdir(parents=True)
    for name in (preset_files.WHOLE, preset_files.STREAMING):
        shutil.copy(deployed / "kws.tflite", folder / name)
    card = {"name": "small", "task": "kws", "description": "five words"}
    (folder / preset_files.CARD).write_text(json.dumps(card))
    monkeypatch.setattr(preset_files, "FOLDER", folder.parent)
    monkeypatch.setitem(trained_models.DEFAULTS, "kws", "small")
    return folder


@pytest.mark.any_backend
def test_presets(preset, noise, tmp_path, capsys):
    path = tmp_path / "a.wav"
    soundfile.write(path, noise(1, 16000), 16000)
    found = [
        command(capsys, "spot", path, *model)
        for model in (
            [],
            ["--model", "small"],
            ["--model", preset / preset_files.WHOLE],
        )
    ]
    assert found[0] == found[1] == found[2] and found[0].split()[1] in WORDS
    assert "small   spot     five words" in command(capsys, "presets")
    (line,) = command(capsys, "presets", "--json").splitlines()
    assert json.loads(line)["name"] == "small"
    for arguments in (
        ["spot", str(path), "--model", "smal"],
        ["presets", "smal"],
    ):
        assert main(arguments) == 2
        assert "must be a preset, one of small" in capsys.readouterr().err
    assert main(["enhance", str(path), "b.wav"]) == 2
    assert "'se_duspar_116_everyday'" in capsys.readouterr().err


@pytest.mark.any_backend
def test_labels_of_the_model(trained, noise, tmp_path, capsys):
    """A lone `.keras` file names the words, and `convert` keeps them."""
    spotter = models.keyword_spotter("spar", 4, num_layers=1, labels=WORDS)
    spotter.save(tmp_path / "m.keras")
    soundfile.write(tmp_path / "a.wav", noise(1, 16000), 16000)
    arguments = ["spot", tmp_path / "a.wav", "--model", tmp_path / "m.keras"]
    assert command(capsys, *arguments).split()[1] in WORDS


@pytest.mark.any_backend
def test_file_without_labels(trained, noise, tmp_path, capsys):
    """Numbers, a list beside the model, or a list that is given."""
    _, runs = trained
    model = tmp_path / "m.keras"
    shutil.copy(runs / "kws" / "model.keras", model)
    soundfile.write(tmp_path / "a.wav", noise(1, 16000), 16000)
    arguments = ["spot", tmp_path / "a.wav", "--model", model]
    number = int(command(capsys, *arguments).split()[1])
    (tmp_path / "labels.json").write_text(json.dumps(list("abcde")))
    assert command(capsys, *arguments).split()[1] == "abcde"[number]
    (tmp_path / "words.txt").write_text("v\nw\nx\ny\nz\n")
    given = command(capsys, *arguments, "--labels", tmp_path / "words.txt")
    assert given.split()[1] == "vwxyz"[number]


@pytest.mark.any_backend
def test_entry_point_and_help(capsys):
    (point,) = importlib.metadata.entry_points(
        group="console_scripts", name="keras-duspar"
    )
    with pytest.raises(SystemExit) as stopped:
        point.load()(["--help"])
    assert stopped.value.code == 0
    printed = capsys.readouterr().out
    for line in ("spot", "understand", "enhance", "inspect", "presets"):
        assert line in printed
