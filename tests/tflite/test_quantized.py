"""Quantized models in files: what the interpreter runs is what Keras says."""

import functools

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar import QuantScheme
from keras_duspar import quantization
from keras_duspar import tflite
from tests.helpers import assert_close
from tests.helpers import randomize
from tests.tflite.conftest import make_audio
from tests.tflite.conftest import make_model

pytestmark = pytest.mark.any_backend


@functools.cache
def features():
    rng = np.random.default_rng(3)
    return rng.normal(size=(3, 9, 20)).astype("float32")


@functools.cache
def layers():
    model = keras.Sequential(
        [
            keras.Input((None, 20)),
            keras_duspar.DuSpaR(16, return_sequences=True, name="first"),
            keras_duspar.SpaR(16, return_sequences=True, name="second"),
            keras.layers.Dense(17, name="dense"),
        ]
    )
    randomize(model, 0.4)
    return model


@functools.cache
def trained(scheme):
    """A model that was trained for a few steps with rounding."""
    model = keras_duspar.quantize(layers(), scheme)
    model.compile("adam", "mse")
    for _ in range(2):
        model.train_on_batch(features(), np.zeros((3, 9, 17)))
    return model


@pytest.mark.parametrize(
    "scheme, ops, operands",
    [
        (QuantScheme("int8", "uint7"), "sparse", "uint7"),
        (QuantScheme("int8", "uint8"), "sparse", "uint8"),
        (QuantScheme("int8", "uint8"), "builtin", None),
        (QuantScheme("int4", "float32"), "sparse", "float32"),
        (QuantScheme("bfloat16", "float32"), "sparse", "float32"),
        (QuantScheme("int8", "uint8", "int8"), "builtin", None),
    ],
    ids=str,
)
def test_file_equals_simulation(tmp_path, scheme, ops, operands):
    model = trained(scheme)
    path = tflite.convert(
        model, tmp_path / "m.tflite", ops=ops, count=ops == "builtin"
    )
    runner = tflite.load(path)
    assert_close(runner(features()), model(features()), atol=2e-6)
    expected = keras_duspar.profile(model, features())
    assert runner.profile().occupancy == pytest.approx(expected.occupancy)
    found = tflite.inspect(path)
    assert found.description["weights"] == str(scheme.weights)
    for operator in found.sparse:
        options = operator["options"]
        assert options.get("operands", "float32") == operands
    assert "DEQUANTIZE" in found.operators


def test_stream(tmp_path):
    model = trained(QuantScheme("int8", "uint8"))
    path = tflite.convert(model, tmp_path / "m.tflite", streaming=True)
    runner = tflite.load(path)
    steps = [runner.step(features()[0, t : t + 1]) for t in range(9)]
    whole = keras.ops.convert_to_numpy(model(features()[:1]))
    assert_close(np.concatenate(steps), whole[0], atol=2e-6)


def test_after_training(tmp_path):
    """Ranges from data, with a report; the file is smaller."""
    model, audio = make_model("spotter"), make_audio(8000)
    reports = []
    path = tflite.convert(
        model,
        tmp_path / "m.tflite",
        weights="int8",
        representative=audio,
        report=reports.append,
    )
    (report,) = reports
    assert list(report.outputs) == ["logits"]
    assert 0 < report.outputs["logits"] < 0.1
    assert set(report.layers) == {"recurrent_1", "recurrent_2", "classifier"}
    runner = tflite.load(path)
    assert runner.weights == "int8"
    assert runner.description["operands"] == "uint8"
    change = runner(audio) - keras.ops.convert_to_numpy(model(audio))
    norm = np.linalg.norm(keras.ops.convert_to_numpy(model(audio)))
    assert np.linalg.norm(change) / norm == pytest.approx(
        report.outputs["logits"], rel=0.2
    )
    assert runner.profile().occupancy <= (
        keras_duspar.profile(model, audio).occupancy + 0.001
    )


def test_bad_input(tmp_path):
    path = tmp_path / "m.tflite"
    model = keras_duspar.quantize(layers())
    with pytest.raises(ValueError, match="was never observed"):
        tflite.convert(model, path)
    quantization.calibrate(model, features())
    quantizer = model.get_layer("first").cell.feedforward.quantizer
    quantizer.frozen.assign(1.0)
    with pytest.raises(ValueError, match="partly frozen.*feedback.*second"):
        tflite.convert(model, path)
    quantizer.frozen.assign(0.0)
    with pytest.raises(ValueError, match="is quantized.*int8"):
        tflite.convert(model, path, weights="int8")
    with pytest.raises(ValueError, match="is quantized.*representative"):
        tflite.convert(model, path, representative=features())
    with pytest.raises(ValueError, match="`representative` must be None"):
        tflite.convert(layers(), path, representative=features())
    quantizer.ranges["x"].assign(float("inf"))
    with pytest.raises(ValueError, match="feedforward/x is inf"):
        tflite.convert(model, path)
    with pytest.raises(ValueError, match='states of integers.*"builtin"'):
        tflite.convert(trained(QuantScheme("int8", "uint8", "int8")), path)
    assert not path.exists()
