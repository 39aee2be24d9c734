"""Files of released versions: they load, and give the numbers they gave."""

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar.tflite.runtime import find_runtime
from tests.kept.make import HERE
from tests.kept.make import LABELS
from tests.kept.make import THRESHOLDS

VERSIONS = sorted(path.parent for path in HERE.glob("*/expected.npz"))


def files(kind):
    """All kept files of a kind, each as one test."""
    return [
        pytest.param(path, id=f"{folder.name}-{path.name}")
        for folder in VERSIONS
        for path in sorted(folder.glob(f"*.{kind}"))
    ]


def expected(path, name):
    with np.load(path.with_name("expected.npz")) as content:
        return content[name]


def test_every_version_has_its_files():
    assert VERSIONS
    for folder in VERSIONS:
        names = {path.name for path in folder.glob("*.*")}
        for model in ("spotter", "recognizer", "enhancer", "quantized"):
            assert {f"{model}.keras", f"{model}.tflite"} <= names
        assert "builtin.tflite" in names
        if folder.name != "0.1.0":
            assert {"budgeted.keras", "budgeted.tflite"} <= names
            assert "listener.tflite" in names


@pytest.mark.parametrize("path", files("keras"))
def test_keras(path):
    model = keras.saving.load_model(path)
    y = model.predict(expected(path, "audio")[np.newaxis], verbose=0)[0]
    np.testing.assert_allclose(y, expected(path, path.name), atol=2e-5)


@pytest.mark.any_backend
@pytest.mark.parametrize("path", files("tflite"))
def test_tflite(path):
    try:
        find_runtime()
    except ImportError as e:
        pytest.skip(str(e))
    runner = keras_duspar.tflite.load(path)
    y = runner(expected(path, "audio"))
    np.testing.assert_allclose(y, expected(path, path.name), atol=2e-5)
    occupancy = expected(path, f"{path.stem}.occupancy")
    assert runner.profile().occupancy == pytest.approx(occupancy, rel=1e-3)
    named = path.stem in ("spotter", "listener")
    assert runner.labels == (list(LABELS) if named else None)


@pytest.mark.any_backend
def test_detector_of_the_file():
    """What `store_detector()` put there is what a detector uses."""
    try:
        find_runtime()
    except ImportError as e:
        pytest.skip(str(e))
    paths = list(HERE.glob("*/listener.tflite"))
    assert paths
    for path in paths:
        detector = keras_duspar.streaming.Detector(
            keras_duspar.tflite.load(path)
        )
        found = detector.settings
        assert found["thresholds"] == pytest.approx(list(THRESHOLDS.values()))
        assert found["refractory"] == pytest.approx(0.5)
        assert found["window"] == pytest.approx(0.1, abs=0.016)
