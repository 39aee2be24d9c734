"""Convolutions and pools in files, as streams and on whole recordings."""

import keras
import numpy as np
import pytest
from keras import layers

import keras_duspar
from keras_duspar import tflite
from tests.helpers import assert_close
from tests.helpers import keyword_layers
from tests.helpers import randomize

pytestmark = pytest.mark.any_backend


def keyword_model():
    """With a stride, so that not every frame brings an output."""
    inputs = keras.Input((None, 6))
    x = keyword_layers(inputs)
    outputs = {
        "frames": x,
        "most": layers.GlobalMaxPooling1D()(x),
        "mean": layers.GlobalAveragePooling1D()(x),
    }
    return keras.Model(inputs, outputs)


@pytest.mark.parametrize(
    "frames, ops", [(1, "sparse"), (1, "builtin"), (4, "sparse"), (3, "sparse")]
)
def test_streaming_files(tmp_path, rng, frames, ops):
    model = keyword_model()
    randomize(model, 0.4)
    path = tflite.convert(
        model,
        tmp_path / "m.tflite",
        streaming=True,
        ops=ops,
        frames=frames,
        output_names=sorted(model.output),
        count=ops == "builtin",
    )
    runner = tflite.load(path)
    x = rng.normal(size=(1, 24, 6)).astype("float32")
    expected = model(x)
    for _ in range(2):  # the second from states of zeros again
        assert_close(runner(x), expected, 1e-5)
    found, counted = runner.profile(), keras_duspar.profile(model, x)
    assert found.dense_macs == counted.dense_macs
    assert found.occupancy == pytest.approx(counted.occupancy)


def test_whole_file(tmp_path, rng):
    model = keyword_model()
    randomize(model, 0.4)
    path = tflite.convert(
        model, tmp_path / "m.tflite", output_names=sorted(model.output)
    )
    runner = tflite.load(path)
    for shape in [(2, 24, 6), (1, 31, 6)]:
        x = rng.normal(size=shape).astype("float32")
        assert_close(runner(x), model(x), 1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.Conv1D(4, 4),
        lambda: layers.Conv1D(4, 2, 5),
        lambda: layers.AveragePooling1D(3, 2),
        lambda: layers.AveragePooling1D(3),
    ],
    ids=["valid", "stride", "overlapping", "mean"],
)
def test_windows_that_are_not_always_complete(tmp_path, rng, make):
    model = keras.Sequential([keras.Input((None, 6)), make()])
    randomize(model, 0.5)
    path = tflite.convert(model, tmp_path / "m.tflite", streaming=True)
    x = rng.normal(size=(1, 17, 6)).astype("float32")
    assert_close(tflite.load(path)(x), model(x), 1e-5)
    assert np.size(tflite.load(path).step(x[0, :1])) == 0
