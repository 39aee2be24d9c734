"""Makes the files that later versions must still load.

    KERAS_BACKEND=tensorflow python -m tests.kept.make

Run it once for a release: files of a version that is out never change.
`test_kept.py` loads the files of all versions and compares the numbers.
"""

import pathlib

import numpy as np

import keras_duspar
from keras_duspar import models
from keras_duspar import tflite

HERE = pathlib.Path(__file__).parent
LABELS = ("yes", "no", "other")
# Small, and between them both layers and all ways to store weights.
MODELS = {
    "spotter": ("float32", lambda: models.keyword_spotter("duspar", 8, 3)),
    "recognizer": (
        "bfloat16",
        lambda: models.intent_recognizer("duspar", 8, 3),
    ),
    "enhancer": (
        "int8",
        lambda: models.speech_enhancer("spar", 8, num_layers=2),
    ),
}


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


def main():
    folder = HERE / keras_duspar.__version__
    folder.mkdir(exist_ok=True)
    audio = make_audio()
    expected = {}
    for name, (weights, build) in MODELS.items():
        model = build()
        set_weights(model)
        model.save(folder / f"{name}.keras")
        expected[f"{name}.keras"] = model.predict(audio[None], verbose=0)[0]
        path = folder / f"{name}.tflite"
        labels = LABELS if name == "spotter" else None
        tflite.convert(
            model, path, streaming=True, weights=weights, labels=labels
        )
        runner = tflite.load(path)
        expected[f"{name}.tflite"] = runner(audio)
        expected[f"{name}.occupancy"] = runner.profile().occupancy
    np.savez_compressed(folder / "expected.npz", **expected)


if __name__ == "__main__":
    main()
