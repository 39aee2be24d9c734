"""Makes the files that later versions must still load.

    python -m tests.kept.make keras    with the oldest Keras: newer ones
                                       read its files, not the reverse
    python -m tests.kept.make tflite   with the newest TensorFlow

Run it once for a release: files of a version that is out never change.
`test_kept.py` loads the files of all versions and compares the numbers.
`make test-compat` has environments with these versions.
"""

import pathlib
import sys

import keras
import numpy as np

import keras_duspar
from keras_duspar import models
from keras_duspar import quantization
from keras_duspar import tflite

HERE = pathlib.Path(__file__).parent
LABELS = ("yes", "no", "other")
# Small, and between them both layers.
MODELS = {
    "spotter": lambda: models.keyword_spotter("duspar", 8, 3),
    "recognizer": lambda: models.intent_recognizer("duspar", 8, 3),
    "enhancer": lambda: models.speech_enhancer("spar", 8, num_layers=2),
    "quantized": lambda: models.speech_enhancer("duspar", 8, num_layers=1),
    "budgeted": lambda: models.keyword_spotter("duspar", 8, 3),  # since 0.2.0
}
# What each file is made of: all ways to store weights and operands.
FILES = {
    "spotter": ("spotter", {"labels": LABELS}),
    "recognizer": ("recognizer", {"weights": "bfloat16"}),
    "enhancer": ("enhancer", {"weights": "int8"}),
    "quantized": ("quantized", {"streaming": False}),
    "builtin": ("enhancer", {"ops": "builtin", "count": True}),
    # Since 0.2.0.
    "budgeted": ("budgeted", {"weights": "int8"}),
    "listener": ("spotter", {"labels": LABELS, "window": 0.1}),
}
THRESHOLDS = {"yes": 0.25, "no": 0.5, "other": 0.75}


def make_audio():
    """A tone that rises and comes and goes, without a random generator."""
    t = np.arange(6144)
    return (0.3 * np.sin(2e-4 * t**1.7) * np.sin(3e-3 * t)).astype("float32")


def set_weights(model):
    """Gives a model weights that are all different, by a formula."""
    for i, weight in enumerate(model.trainable_weights):
        size = int(np.prod(weight.shape))
        values = 0.5 * np.sin(1.0 + i + np.arange(size) * (i + 1.3))
        weight.assign(values.reshape(weight.shape).astype("float32"))


def train_to_budget(model, audio):
    """A few steps, after which the layers have fewer entries."""
    model.compile("adam", "sparse_categorical_crossentropy")
    x = np.stack([audio, audio[::-1]] * 4)
    budget = keras_duspar.callbacks.Budget(occupancy=0.3)
    model.fit(
        *(x, np.arange(8) % 3),
        **{"batch_size": 1, "epochs": 20, "verbose": 0},
        callbacks=[budget],
    )


def make_keras(folder, audio):
    """Saves the models; returns what they give."""
    expected = {"audio": audio}
    for name, build in MODELS.items():
        model = build()
        set_weights(model)
        if name == "quantized":
            model = keras_duspar.quantize(model, "int8")
            quantization.calibrate(model, audio[None])
        elif name == "budgeted":
            train_to_budget(model, audio)
        model.save(folder / f"{name}.keras")
        expected[f"{name}.keras"] = model.predict(audio[None], verbose=0)[0]
    return expected


def make_tflite(folder, audio):
    """Converts the saved models; returns what the files give."""
    with np.load(folder / "expected.npz") as content:
        expected = dict(content)
    for name, (model, options) in FILES.items():
        model = keras.saving.load_model(folder / f"{model}.keras")
        path = folder / f"{name}.tflite"
        tflite.convert(model, path, **{"streaming": True, **options})
        if "window" in options:
            tflite.store_detector(path, THRESHOLDS, refractory=0.5)
        runner = tflite.load(path)
        expected[f"{name}.tflite"] = runner(audio)
        expected[f"{name}.occupancy"] = runner.profile().occupancy
    return expected


def main(kind):
    folder = HERE / keras_duspar.__version__
    folder.mkdir(exist_ok=True)
    make = {"keras": make_keras, "tflite": make_tflite}[kind]
    np.savez_compressed(folder / "expected.npz", **make(folder, make_audio()))


if __name__ == "__main__":
    main(*sys.argv[1:])
