"""The commands say what the models say, whatever the file."""

import importlib.metadata
import json
import shutil

import numpy as np
import pytest
import soundfile
import soxr

from keras_duspar.cli import main
from keras_duspar.losses import ctc_decode
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
    models, runs = trained
    path = tmp_path / name
    soundfile.write(path, noise(1.3, rate, channels), rate, subtype)
    printed = command(
        capsys, "spot", path, "--model", runs / "kws", "--top", 5, "--json"
    )
    audio, _ = soundfile.read(path, dtype="float32", always_2d=True)
    if rate != 16000:
        audio = soxr.resample(audio, rate, 16000)
    audio = audio.mean(axis=1)[np.newaxis].astype("float32")
    expected = softmax(to_numpy(models["kws"](audio))[0])
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
    models, runs = trained
    lines = []
    for name in ("a.wav", "b.wav"):
        audio = noise(1, 16000)
        soundfile.write(tmp_path / name, audio, 16000, "FLOAT")
        scores = softmax(to_numpy(models["kws"](audio.T))[0])
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
    models, runs = trained
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
        scores = softmax(to_numpy(models["kws"](window))[0])
        assert answer["words"][0]["word"] == WORDS[scores.argmax()]
        assert answer["words"][0]["score"] == pytest.approx(
            scores.max(), abs=2e-4
        )
    printed = command(
        capsys, "spot", tmp_path / "a.wav", *arguments, "--threshold", 0.9999
    )
    assert printed == ""


def test_understand(trained, noise, tmp_path, capsys):
    models, runs = trained
    audio = noise(2.7, 16000)
    soundfile.write(tmp_path / "a.wav", audio, 16000, "FLOAT")
    # 42.2 groups of frames: silence fills the last one.
    filled = np.pad(audio.T, [(0, 0), (0, 43 * 1024 - len(audio))])
    labels, scores = ctc_decode(models["slu"](filled))
    expected = [INTENTS[i] for i in labels[0]]
    assert expected  # else the test says little
    arguments = ["understand", tmp_path / "a.wav", "--model", runs / "slu"]
    printed = command(capsys, *arguments)
    assert printed == f"{tmp_path / 'a.wav'}  {'  '.join(expected)}\n"
    answer = json.loads(command(capsys, *arguments, "--json"))
    assert answer["intents"] == expected
    assert answer["log_probability"] == pytest.approx(scores[0], abs=1e-2)


def test_enhance(trained, noise, tmp_path, capsys):
    models, runs = trained
    audio = noise(2.3, 16000)
    soundfile.write(tmp_path / "a.wav", audio, 16000, "FLOAT")
    out = tmp_path / "b.wav"
    printed = command(
        capsys, "enhance", tmp_path / "a.wav", out, "--model", runs / "se"
    )
    assert printed.startswith(f"{out}: 2.30 s")
    clean, rate = soundfile.read(out, dtype="float32")
    assert rate == 16000 and soundfile.info(out).subtype == "FLOAT"
    expected = to_numpy(models["se"](audio.T))[0]
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(clean, expected, atol=1e-5)


@pytest.mark.parametrize("name, rate, channels, subtype", FILES[1:])
def test_enhance_keeps_rate_channels_and_length(
    name, rate, channels, subtype, trained, noise, tmp_path, capsys
):
    models, runs = trained
    noisy = tmp_path / name
    soundfile.write(noisy, noise(1.337, rate, channels), rate, subtype)
    # Onto itself: the input is read before it is replaced.
    copy = tmp_path / f"copy{noisy.suffix}"
    shutil.copy(noisy, copy)
    command(capsys, "enhance", copy, copy, "--model", runs / "se")
    before, after = soundfile.info(noisy), soundfile.info(copy)
    for key in ("samplerate", "channels", "frames", "subtype", "format"):
        assert getattr(after, key) == getattr(before, key)
    audio, _ = soundfile.read(noisy, dtype="float32", always_2d=True)
    clean, _ = soundfile.read(copy, dtype="float32", always_2d=True)
    heard = soxr.resample(audio, rate, 16000).astype("float32")
    expected = to_numpy(models["se"](heard.T)).T
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
        command(capsys, "enhance", path, out, "--model", model)
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
    for line in ("spot", "understand", "enhance", "inspect"):
        assert line in printed
