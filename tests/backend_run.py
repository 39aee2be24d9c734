"""Runs every layer on the current backend and writes what comes out.

KERAS_BACKEND=jax python -m tests.backend_run OUT.npz
"""

import os
import pathlib
import sys

import keras
import numpy as np
from keras import ops

import keras_duspar
from tests.helpers import LAYERS
from tests.helpers import gradients
from tests.helpers import randomize
from tests.helpers import to_numpy


def main(out):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3, 20, 6)).astype("float32")
    mask = rng.random((3, 20)) < 0.8
    results = {}
    for name, layer_class in {**LAYERS, "gru": keras.layers.GRU}.items():
        layer = layer_class(7, return_sequences=True, return_state=True)
        layer.build(x.shape)
        randomize(layer, 0.4)
        inputs = keras.Variable(x)

        def loss(layer=layer, inputs=inputs):
            tensor = ops.convert_to_tensor(inputs)
            total = 0.0
            for m in (None, ops.convert_to_tensor(mask)):
                for part in layer(tensor, mask=m):
                    total = total + ops.mean(ops.square(part))
            return total

        for kind, m in (("plain", None), ("masked", mask)):
            # Keras' own GRU repeats another thing at masked steps on JAX.
            if name == "gru" and m is not None:
                continue
            for i, part in enumerate(to_numpy(layer(x, mask=m))):
                results[f"{name}/{kind}/{i}"] = part
        variables = [inputs, *layer.trainable_weights]
        for variable, gradient in zip(variables, gradients(loss, variables)):
            results[f"{name}/gradient/{variable.name}/{len(results)}"] = (
                gradient
            )
    audio = rng.normal(0, 0.1, (2, 8000)).astype("float32")
    for build in (
        keras_duspar.models.keyword_spotter,
        keras_duspar.models.intent_recognizer,
        keras_duspar.models.speech_enhancer,
    ):
        model = build("duspar", 12)
        randomize(model, 0.3)
        results[f"{build.__name__}/outputs"] = to_numpy(model(audio))
    results["loaded/outputs"] = saved_model(pathlib.Path(out), audio)
    np.savez(out, **results)


def saved_model(out, audio):
    """Outputs of a model that the first backend to come here has saved."""
    path = out.parent / "shared.keras"
    if not path.exists():
        model = keras_duspar.models.keyword_spotter("duspar", 12)
        randomize(model, 0.3)
        model.save(path)
    return to_numpy(keras.models.load_model(path)(audio))


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    main(sys.argv[1])
