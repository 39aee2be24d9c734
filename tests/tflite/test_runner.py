"""What a runner refuses, keeps and counts."""

import json
import subprocess
import sys

import numpy as np
import pytest

import keras_duspar
from keras_duspar import cli
from keras_duspar import tflite
from keras_duspar.tflite import measuring
from tests.conftest import ROOT
from tests.helpers import assert_close
from tests.tflite.conftest import make_audio
from tests.tflite.conftest import make_model

pytestmark = pytest.mark.any_backend


@pytest.fixture
def stream(convert):
    return tflite.load(convert("spotter", streaming=True, ops="sparse"))


@pytest.fixture
def whole(convert):
    return tflite.load(convert("spotter", streaming=False, ops="sparse"))


def test_bad_files(tmp_path, convert):
    with pytest.raises(ValueError, match="where there is no file"):
        tflite.load(tmp_path / "missing.tflite")
    other = tmp_path / "other.tflite"
    other.write_bytes(b"RIFF....WAVE")
    with pytest.raises(ValueError, match="contents are something else"):
        tflite.load(other)
    with pytest.raises(ValueError, match="`num_threads` must be a positive"):
        tflite.load(other, num_threads=0)
    path = convert("spotter", streaming=True, ops="sparse")
    with pytest.raises(ValueError, match="`delegate` must be True.*DuSpaR"):
        tflite.load(path, delegate=False)


def test_without_the_library(convert, monkeypatch):
    """A file with sparse operators says how to build what it needs."""
    monkeypatch.setenv("KERAS_DUSPAR_LIBRARY", "/nowhere/libduspar.so")
    with pytest.raises(FileNotFoundError, match="KERAS_DUSPAR_LIBRARY"):
        tflite.load(convert("spotter", streaming=True, ops="sparse"))
    path = convert("spotter", streaming=True, ops="builtin", count=True)
    assert tflite.load(path)(make_audio(1024)).shape == (3, 35)


def test_a_file_of_another_origin(tmp_path):
    import tensorflow as tf

    function = tf.function(
        lambda x: {"y": 2 * x},
        input_signature=[tf.TensorSpec((None, 3), name="x")],
    )
    module = tf.Module()
    module.function = function
    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [function.get_concrete_function()], module
    )
    path = tmp_path / "double.tflite"
    path.write_bytes(converter.convert())
    with pytest.warns(UserWarning, match="not written by keras_duspar"):
        runner = tflite.load(path)
    assert runner(np.ones((2, 3), "float32")).tolist() == [[2] * 3] * 2
    assert runner.labels is None and runner.occupancy() == {}
    with pytest.raises(ValueError, match="no description"):
        runner.profile()
    assert "not written by keras_duspar" in str(tflite.inspect(path))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros((1, 2, 512), "float32"), "`audio` must be of shape"),
        (np.zeros(512, "int16"), "Divide 16-bit samples by 32768"),
        (np.full(512, np.nan, "float32"), "`audio` must be finite"),
        (np.full(512, -50, "float32"), "`audio` must be floats.*up to 50"),
        (np.zeros(100, "float32"), "at least one frame of 256"),
        (np.zeros((0, 512), "float32"), "must be not empty"),
        (np.zeros(512, "complex64"), "of dtype float32"),
        ({"sound": np.zeros(512, "float32")}, r"keys \['audio'\]"),
        ("a.wav", "of dtype float32"),
    ],
)
def test_bad_inputs(whole, stream, value, message):
    for runner in (whole, stream):
        with pytest.raises(ValueError, match=message):
            runner(value)


def test_bad_chunks(whole, stream):
    with pytest.raises(ValueError, match="`step.*needs a streaming file"):
        whole.step(np.zeros(256, "float32"))
    with pytest.raises(ValueError, match="`reset.*needs a streaming file"):
        whole.reset()
    with pytest.raises(ValueError, match="must be finite.*It has NaN"):
        stream.step(np.full(256, np.inf, "float32"))
    with pytest.raises(ValueError, match="must be floats in .*up to 50"):
        stream.step(np.full(256, 50, "float32"))
    for shape in ((255,), (2, 256), (1, 1, 256), ()):
        with pytest.raises(ValueError, match=r"of shape \(1, 256\)"):
            stream.step(np.zeros(shape, "float32"))
    stream.step(np.zeros(256))  # float64 is rounded


def test_streams_begin_anew(stream):
    audio = make_audio(1024, batch=1)
    first = [stream.step(audio[0, i : i + 256]) for i in range(0, 1024, 256)]
    kept = [array.copy() for array in first]
    stream.reset()
    again = [stream.step(audio[:, i : i + 256]) for i in range(0, 1024, 256)]
    for a, b, c in zip(first, kept, again):
        np.testing.assert_array_equal(a, b)  # not overwritten meanwhile
        np.testing.assert_array_equal(a, c[0])
    assert np.abs(first[0] - first[3]).max() > 1e-3


@pytest.mark.parametrize("name", ["spotter", "recognizer", "enhancer"])
def test_blocks_of_any_length(name):
    """Together they give what the whole recording gives."""
    folder = ROOT / "tests" / "kept" / "0.1.0"
    runner = tflite.load(folder / f"{name}.tflite")
    with np.load(folder / "expected.npz") as content:
        audio, expected = content["audio"], content[f"{name}.tflite"]
    blocks = np.split(audio, [1, 100, 100, 1000, 1001, 5555])
    for _ in range(2):  # the second begins anew
        parts = list(runner.stream(blocks))
        if name == "spotter":
            assert parts[0] is None
            found = parts[-1]
        else:
            found = np.concatenate(parts, axis=1)
        np.testing.assert_allclose(found[0], expected, atol=2e-5)


def test_whole_files_do_not_stream(whole):
    with pytest.raises(ValueError, match="`stream.*needs a streaming file"):
        list(whole.stream([]))


def test_counters(stream, whole):
    audio = make_audio(2048, batch=1)
    for runner in (stream, whole):
        with pytest.raises(ValueError, match="has not run since"):
            runner.profile()
        runner(audio)
        once = runner.profile()
        runner(audio)
        twice = runner.profile()
        assert twice.steps == 2 * once.steps == 16
        assert twice.occupancy == pytest.approx(once.occupancy)
        runner.reset_counters()
        assert runner.occupancy() == {}
    assert isinstance(once, keras_duspar.profiling.Profile)
    json.dumps(once.to_dict())


def test_uncounted_operands(tmp_path):
    import keras

    model = keras.Sequential(
        [keras.Input((None, 3)), keras_duspar.DeltaGRU(4, name="delta")]
    )
    path = tflite.convert(model, tmp_path / "m.tflite")
    runner = tflite.load(path)
    runner(np.ones((1, 5, 3), "float32"))
    with pytest.raises(ValueError, match="'dx' of its layer 'delta'.*count"):
        runner.profile()


def test_two_runners_count_for_themselves(convert):
    path = convert("spotter", streaming=True, ops="sparse")
    first, second = tflite.load(path), tflite.load(path)
    first(make_audio(1024, batch=1))
    assert first.profile().steps == 4
    assert second.occupancy() == {}


def test_the_delegate_alone(convert):
    """As an app would use it, without this package's runner."""
    from ai_edge_litert.interpreter import Interpreter
    from ai_edge_litert.interpreter import load_delegate

    path = convert("spotter", streaming=False, ops="sparse")
    interpreter = Interpreter(
        str(path),
        experimental_delegates=[load_delegate(tflite.delegate_path())],
    )
    predict = interpreter.get_signature_runner("predict")
    audio = make_audio(2048)
    expected = make_model("spotter")(audio)
    assert_close(predict(audio=audio)["logits"], expected)


def test_tensorflow_in_the_place_of_litert(convert, monkeypatch):
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    runner = tflite.load(convert("spotter", streaming=False, ops="sparse"))
    assert "tensorflow" in type(runner._interpreter).__module__
    audio = make_audio(2048)
    assert_close(runner(audio), make_model("spotter")(audio))
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(ImportError, match=r"keras-duspar\[runtime\]"):
        tflite.load(convert("spotter", streaming=False, ops="sparse"))


def test_measurement(convert):
    paths = [
        convert("spotter", streaming=True, ops="sparse"),
        convert("spotter", streaming=True, ops="builtin", count=True),
        convert("spotter", streaming=False, ops="sparse"),
    ]
    found = tflite.measure(paths, make_audio(32000, 1)[0], seconds=0.05)
    for m in found:
        assert 0 < m.median <= m.p99
        assert len(m.python) == len(m.times) and m.python_median > 0
        assert m.real_time_factor == pytest.approx(m.median * 62.5)
        assert 0.1 < m.occupancy < 0.9
        json.dumps(m.to_dict())
    assert len(measuring.measurement_table(found).splitlines()) == 5
    with pytest.raises(ValueError, match="`audio` must be at least 256"):
        tflite.measure(paths[0], np.zeros(100))
    with pytest.raises(ValueError, match="`seconds` must be a number"):
        tflite.measure(paths[:1], seconds=0)


def test_command_lines(tmp_path, convert, capsys):
    soundfile = pytest.importorskip("soundfile")
    source, path = tmp_path / "run", tmp_path / "m.tflite"
    source.mkdir()
    config = source / "config.json"
    config.write_text(json.dumps({"labels": [f"word{i}" for i in range(35)]}))
    make_model("spotter").save(source / "model.keras")

    arguments = [source, path, "--streaming"]
    done = subprocess.run(
        [sys.executable, ROOT / "tflite" / "convert.py", *arguments],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "2 x DuSpaR" in done.stdout and "word34" in done.stdout

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    other = convert("spotter", streaming=True, ops="builtin", count=True)
    code, out, _ = run(
        "benchmark", path, "--against", other, "--seconds", "0.05"
    )
    assert code == 0
    assert len(out.splitlines()) == 4 and "builtin" in out
    audio = tmp_path / "a.wav"
    soundfile.write(audio, make_audio(32000, 1)[0], 32000)
    code, out, _ = run(
        "benchmark", path, "--json", "--seconds", "0.05", "--audio", audio
    )
    assert json.loads(out)[0]["threads"] == 1
    assert 0 < json.loads(out)[0]["real_time_factor"] < 1
    code, out, _ = run("benchmark", "inspect", path)
    assert "state recurrent_1/f (1, 12)" in out
    for arguments in (
        ("convert", path, tmp_path / "n.tflite"),
        ("benchmark", source),
        ("benchmark", path, "--audio", config),
    ):
        code, out, err = run(*arguments)
        assert code == 2 and len(err.splitlines()) == 1
