"""What the tests of the kits for apps share."""

import pathlib
import platform
import sys
from dataclasses import dataclass

import keras
import numpy as np
import pytest

import keras_duspar
from tests.kept.make import LABELS
from tests.kept.make import make_audio
from tests.kept.make import set_weights
from tests.kits.tools import npm_package
from tests.streaming import shared_events


@dataclass
class TFLiteC:
    """TFLite with its C interface."""

    include: pathlib.Path
    library: pathlib.Path


def fetch_tflite_c(machine):
    """TFLite 2.9 as a library for C: Python's packages export none."""
    name = {"x86_64": "amd64", "aarch64": "arm64"}.get(machine)
    if sys.platform != "linux" or name is None:
        pytest.skip("TFLite's C library is fetched for Linux only")
    folder = npm_package("tfjs-tflite-node", "0.0.2") / "cc_deps"
    library = folder / f"linux_{name}" / "libtensorflowlite_c.so"
    return TFLiteC(folder / "include", library)


@pytest.fixture(scope="session")
def tflite_c():
    return fetch_tflite_c(platform.machine())


@dataclass
class WholeFile:
    """A file for whole recordings, an input, and what comes out."""

    path: pathlib.Path
    audio: np.ndarray
    scores: np.ndarray
    occupancy: dict


@pytest.fixture(scope="session")
def whole_spotter(tmp_path_factory):
    if keras.backend.backend() != "tensorflow":
        pytest.skip("converts in this process: runs on TensorFlow")
    pytest.importorskip("ai_edge_litert")
    model = keras_duspar.models.keyword_spotter("duspar", 8, 3)
    set_weights(model)
    audio = make_audio()
    path = tmp_path_factory.mktemp("whole") / "spotter.tflite"
    keras_duspar.tflite.convert(model, path, labels=LABELS)
    scores = model.predict(audio[np.newaxis], verbose=0)[0]
    found = keras_duspar.profile(model, audio[np.newaxis], verbose=0)
    occupancy = {
        layer.name: {
            operand.name: layer.nonzeros[operand.name] / operand.size
            for operand in layer.cost.operands
        }
        for layer in found.layers
        if layer.recurrent
    }
    return WholeFile(path, audio, scores, occupancy)


@pytest.fixture(scope="session")
def listening_spotter(tmp_path_factory):
    """A streaming file that keeps thresholds which noise passes."""
    if keras.backend.backend() != "tensorflow":
        pytest.skip("converts in this process: runs on TensorFlow")
    pytest.importorskip("ai_edge_litert")
    path = tmp_path_factory.mktemp("listening") / "spotter.tflite"
    options = {"streaming": True, "window": 0.2, "labels": shared_events.LABELS}
    model = shared_events.make_spotter()
    keras_duspar.tflite.convert(model, path, **options)
    keras_duspar.tflite.store_detector(path, 0.4, 0.05, 0.2)
    return path
