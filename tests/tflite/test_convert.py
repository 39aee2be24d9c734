"""What conversion refuses, keeps and passes on."""

import os
import stat
import subprocess
import sys

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar import tflite
from keras_duspar.tflite import converter
from keras_duspar.tflite import flatbuffer
from keras_duspar.tflite import other_backend
from tests.conftest import ROOT
from tests.helpers import assert_close
from tests.tflite.conftest import make_audio
from tests.tflite.conftest import make_model

pytestmark = pytest.mark.any_backend
WORDS = [f"word {i}" for i in range(35)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ops": "dense"}, "`ops` must be one of 'sparse', 'builtin'"),
        ({"weights": "int4"}, "`weights` must be one of 'float32'"),
        ({"frames": 0}, "`frames` must be a positive integer"),
        ({"frames": 2}, "`frames` must be 1 unless `streaming=True`"),
        ({"count": True}, "`count` must be False"),
        ({"labels": "yes"}, "`labels` must be a list of strings"),
        ({"labels": []}, "`labels` must be a list of 35 .* Received 0"),
        ({"labels": WORDS[:34]}, "`labels` must be a list of 35 .* 34: word 0"),
        ({"labels": [*WORDS, "more"]}, "`labels` must .* Received 36"),
        ({"labels": [*WORDS[:34], " "]}, "`labels` must .* none of them empty"),
        ({"labels": [*WORDS[:34], "word 1"]}, "Doubled: ..word 1"),
        ({"output_names": ["a", "b"]}, "`output_names` must be 1 different"),
    ],
)
def test_bad_options(tmp_path, options, message):
    path = tmp_path / "m.tflite"
    with pytest.raises(ValueError, match=message):
        tflite.convert(make_model("spotter"), path, **options)
    assert list(tmp_path.iterdir()) == []


def test_bad_models(tmp_path):
    path = tmp_path / "m.tflite"
    layer = keras_duspar.DuSpaR(4)
    for model, message in (
        (keras.Sequential([layer]), "without known inputs"),
        (layer, "Put a layer into `keras.Sequential"),
        ("missing.keras", "`model` must be a Keras model or the path"),
        (__file__, "`model` must be a Keras model or the path"),
        (3, "Received: model=3"),
    ):
        with pytest.raises(ValueError, match=message):
            tflite.convert(model, path)
    broken = tmp_path / "broken.keras"
    broken.write_bytes(b"no zip file")
    with pytest.raises(ValueError, match="that can be loaded.*broken.keras"):
        tflite.convert(broken, path)
    inputs = keras.Input((5, 3), batch_size=1)
    stateful = keras_duspar.DuSpaR(4, stateful=True, name="keeps")(inputs)
    with pytest.raises(ValueError, match="stateful layers: 'keeps' is one"):
        tflite.convert(keras.Model(inputs, stateful), path)
    assert not path.exists()


def test_layers_that_cannot_stream(tmp_path):
    inputs = keras.Input((None, 3))
    sparse = keras_duspar.SpaR(4, return_sequences=True)
    for layer, message in (
        (keras.layers.Bidirectional(sparse, name="both"), "'both'"),
        (keras_duspar.DuSpaR(4, go_backwards=True, name="back"), "'back'"),
    ):
        model = keras.Model(inputs, layer(inputs))
        with pytest.raises(ValueError, match=f"cannot be streamed.*{message}"):
            tflite.convert(model, tmp_path / "m.tflite", streaming=True)
    assert list(tmp_path.iterdir()) == []


def test_bad_paths(tmp_path):
    model = make_model("spotter")
    with pytest.raises(ValueError, match="`path` must lie in a folder that e"):
        tflite.convert(model, tmp_path / "no" / "m.tflite")
    with pytest.raises(ValueError, match="which is a folder"):
        tflite.convert(model, tmp_path)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    from keras_duspar.utils import files

    path = tmp_path / "m.tflite"
    path.write_bytes(b"old")

    def fail(*args):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="disk full"):
            files.write(path, b"new")
    assert path.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1
    files.write(path, b"new")
    assert path.read_bytes() == b"new"
    (tmp_path / "plain").touch()
    plain = (tmp_path / "plain").stat().st_mode
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain)


def test_what_is_kept(tmp_path):
    path = tflite.convert(
        make_model("spotter"),
        tmp_path / "m.tflite",
        streaming=True,
        labels=WORDS,
        task="keywords",
        output_names=["my scores"],
    )
    runner = tflite.load(path)
    assert runner.labels == WORDS and runner.task == "keywords"
    assert (runner.sample_rate, runner.hop, runner.samples) == (16000, 256, 256)
    assert list(runner.outputs) == ["my scores"]
    text = str(tflite.inspect(path))
    for part in ("keywords, streaming", "my scores", "log_mel/history", "word"):
        assert part in text
    # The data of every tensor is aligned as the runtimes expect.
    from tensorflow.lite.python import schema_py_generated as schema

    data = path.read_bytes()
    model = schema.Model.GetRootAsModel(data, 0)
    for i in range(model.BuffersLength()):
        content = model.Buffers(i).DataAsNumpy()
        if not isinstance(content, int):
            start = data.index(content.tobytes()) if content.size > 64 else 0
            assert start % 16 == 0


def test_damaged_files(convert, tmp_path):
    data = convert("spotter", streaming=True, ops="sparse").read_bytes()
    with pytest.raises(ValueError, match="`path` must be a .tflite file"):
        flatbuffer.File(b"something else")
    failed = 0
    for cut in range(8, len(data), len(data) // 60):
        try:
            flatbuffer.File(data[:cut])
        except ValueError as e:
            assert "cut off or damaged" in str(e)
            failed += 1
    assert failed > 50
    rng = np.random.default_rng(0)
    for _ in range(100):  # no other exception, and no endless loop
        noisy = bytearray(data)
        for place in rng.integers(8, len(data), 400):
            noisy[place] = rng.integers(256)
        try:
            flatbuffer.File(bytes(noisy))
        except ValueError as e:
            assert "`path` must be a whole .tflite file" in str(e)


def test_trained_on_jax(tmp_path):
    """The conversion runs in a process on TensorFlow, with the same result."""
    code = """
import sys, keras, keras_duspar
assert keras.backend.backend() == "jax"
model = keras.models.load_model(sys.argv[1])
keras_duspar.tflite.convert(model, sys.argv[2], streaming=True)
"""
    source, path = tmp_path / "m.keras", tmp_path / "m.tflite"
    model = make_model("spotter")
    model.labels = WORDS
    model.save(source)
    done = subprocess.run(
        [sys.executable, "-c", code, str(source), str(path)],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    audio = make_audio(2048)
    runner = tflite.load(path)
    assert_close(runner(audio), make_model("spotter")(audio))
    assert (runner.labels, runner.task) == (WORDS, "kws")


def test_labels_and_the_blank_of_ctc(tmp_path):
    """It has no label; where a model does not tell, one more may be it."""
    path = tmp_path / "m.tflite"
    x = keras.Input((None, 4))
    y = keras.layers.Dense(4)(keras_duspar.SpaR(5, return_sequences=True)(x))
    sequence, last = keras.Model(x, y), keras.Model(x, y[:, -1])
    recognizer = keras_duspar.models.intent_recognizer("spar", 4, 3)
    for model, counts in (
        (sequence, (3, 4)),
        (last, (4,)),
        (recognizer, (3,)),
    ):
        for count in (2, 3, 4, 5):
            labels = WORDS[:count]
            if count in counts:
                converter.check_labels(labels, model, "anything")
                continue
            with pytest.raises(ValueError, match="`labels` must be a list"):
                tflite.convert(model, path, labels=labels)


def test_errors_of_the_other_process(tmp_path, monkeypatch):
    """They are raised again where the conversion was asked for."""
    source = tmp_path / "m.keras"
    make_model("spotter").save(source)
    options = converter.check_options(
        streaming=False,
        ops="sparse",
        weights="float32",
        frames=1,
        window=None,
        labels=["one"],
        task=None,
        output_names=None,
        count=False,
    )

    def run(command, env):
        assert env["KERAS_BACKEND"] == "tensorflow"
        other_backend.main(command[-1])  # in this process, to save time
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(ValueError, match="`labels` must be a list of 35"):
        other_backend.convert(source, tmp_path / "m.tflite", options)
    assert not (tmp_path / "m.tflite").exists()
