"""Trains a step, converts, and runs the file: does this environment work?

    python smoke.py

Needs nothing of the repository but the installed package.
"""

import importlib.metadata
import pathlib
import platform
import sys
import tempfile

import keras
import numpy as np

import keras_duspar


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "-"


def trained_values(model):
    return [
        np.copy(keras.ops.convert_to_numpy(weight))
        for weight in model.trainable_weights
    ]


def train():
    """A keyword spotter after two steps of training, and its input."""
    keras.utils.set_random_seed(0)
    model = keras_duspar.models.keyword_spotter("duspar", 8, num_classes=3)
    audio = np.random.default_rng(0).normal(0, 0.1, (4, 4096))
    audio = audio.astype("float32")
    model.get_layer("log_mel").adapt(audio)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss)
    before = trained_values(model)
    model.fit(audio, np.array([0, 1, 2, 0]), batch_size=2, verbose=0)
    for value, old in zip(trained_values(model), before):
        assert np.abs(value - old).max() > 0, "a weight was not trained"
    return model, audio


def check_file(model, audio, folder, **options):
    """Converts, runs, and compares with Keras: numbers and counts."""
    path = folder / "model.tflite"
    keras_duspar.tflite.convert(model, path, **options)
    runner = keras_duspar.tflite.load(path)
    error = np.abs(runner(audio) - model.predict(audio, verbose=0)).max()
    assert error < 2e-5, f"{options}: outputs differ by {error}"
    counted = runner.profile().occupancy
    expected = keras_duspar.profile(model, audio).occupancy
    assert abs(counted - expected) < 2e-3 * expected, (counted, expected)


def check_refused(model, folder):
    """Old converters cannot make sparse operators, and we say so."""
    try:
        keras_duspar.tflite.convert(model, folder / "model.tflite")
    except ValueError as e:
        assert "needs TensorFlow 2.18" in str(e), e
    else:
        raise AssertionError("this TensorFlow can convert after all")


def main():
    packages = ("keras", "tensorflow", "ai-edge-litert", "numpy")
    print(
        "Python",
        platform.python_version(),
        *(f"{name} {version(name)}" for name in packages),
    )
    print(keras_duspar.__file__, keras_duspar.native.library_path())
    model, audio = train()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        check_file(model, audio, folder, ops="builtin", count=True)
        if version("tensorflow") < "2.18":
            check_refused(model, folder)
            print("ok: trained, converted to built-in operators")
            return
        check_file(model, audio, folder)
        check_file(model, audio, folder, streaming=True, weights="float32")
    print("ok: trained, converted, ran with the delegate")


if __name__ == "__main__":
    sys.exit(main())
