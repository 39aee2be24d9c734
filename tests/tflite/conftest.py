"""Small models, and the files that were made of them."""

import functools
import hashlib
import json
import os

import numpy as np
import pytest

from keras_duspar import models
from keras_duspar import tflite
from tests.helpers import skip_unless_deployable

BUILDERS = {
    "spotter": models.keyword_spotter,
    "recognizer": models.intent_recognizer,
    "enhancer": models.speech_enhancer,
}


def pytest_runtest_setup():
    skip_unless_deployable()


def make_audio(samples, batch=3):
    rng = np.random.default_rng(4)
    loudness = np.abs(np.sin(np.arange(samples) / 900))
    noise = rng.normal(0, 0.2, (batch, samples)) * loudness
    return noise.astype("float32")


@functools.cache
def make_model(name, units=12):
    """One of the paper's models, always with the same weights."""
    model = BUILDERS[name]("duspar", units)
    rng = np.random.default_rng(5)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(0, 0.4, weight.shape))
    for layer in model.layers:
        if hasattr(layer, "adapt"):
            layer.adapt(make_audio(8000))
    return model


@pytest.fixture(scope="session")
def convert(tmp_path_factory):
    """Converts a model once for all tests, also those of other workers."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder = folder / "tflite-files"
    folder.mkdir(exist_ok=True)

    def convert(name, **options):
        key = json.dumps([name, options], sort_keys=True)
        digest = hashlib.sha256(key.encode()).hexdigest()[:16]
        path = folder / f"{name}-{digest}.tflite"
        if not path.exists():
            tflite.convert(make_model(name), path, **options)
        return path

    return convert
