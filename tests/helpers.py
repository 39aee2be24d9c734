"""Small things that several tests need."""

import keras
import numpy as np
import pytest
import yaml

import keras_duspar
from keras_duspar import native
from tests import reference
from tests.conftest import ROOT

NAMES = sorted(reference.STEPS)
LAYERS = {name: keras_duspar.layers.get(name) for name in NAMES}
CELLS = {name: LAYERS[name].cell_class for name in NAMES}


def to_numpy(tensors):
    return keras.tree.map_structure(
        lambda x: keras.ops.convert_to_numpy(x), tensors
    )


def assert_close(actual, expected, atol=1e-5, rtol=0):
    """Compares nested results within a tolerance."""
    actual = keras.tree.flatten(to_numpy(actual))
    expected = keras.tree.flatten(to_numpy(expected))
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected):
        np.testing.assert_allclose(a, e, atol=atol, rtol=rtol)


def randomize(layer, scale=0.6, seed=7):
    """Gives every weight, also the biases, a random value it may have."""
    rng = np.random.default_rng(seed)
    for w in layer.trainable_weights:
        value = rng.normal(0, scale, w.shape)
        w.assign(value if w.constraint is None else w.constraint(value))


def saved_and_loaded(value):
    """What Keras makes of its own description of an object."""
    return keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(value)
    )


def keyword_layers(x):
    """Windows over time in every way that Keras has, with normalization."""
    layers = keras.layers
    x = layers.BatchNormalization()(x)
    x = layers.Conv1D(8, 3, 2, padding="causal", activation="relu")(x)
    x = layers.RMSNormalization()(x)
    x = layers.ZeroPadding1D((4, 0))(x)
    x = layers.SeparableConv1D(5, 3, dilation_rate=2, name="separable")(x)
    x = layers.LayerNormalization()(x)
    x = layers.ZeroPadding1D((2, 0))(x)
    x = layers.ReLU()(layers.DepthwiseConv1D(3, name="depthwise")(x))
    x = keras_duspar.DuSpaR(4, return_sequences=True, name="duspar")(x)
    x = layers.MaxPooling1D(2)(x)
    return layers.TimeDistributed(layers.Dense(3))(x)


def weights_of(layer):
    """A layer's or cell's weights by name, below the cell."""
    cell = getattr(layer, "cell", layer)
    found = {}
    for owner, prefix in (
        (cell, ""),
        (getattr(cell, "feedforward", None), "feedforward/"),
        (getattr(cell, "feedback", None), "feedback/"),
    ):
        for w in [] if owner is None else owner.weights:
            in_half = "feedforward/" in w.path or "feedback/" in w.path
            if prefix or not in_half:
                value = keras.ops.convert_to_numpy(w)
                found[prefix + w.name] = value.astype("float64")
    return found


def masked_model(name, features, units):
    """A model whose second input is the mask."""
    x = keras.Input((None, features))
    mask = keras.Input((None,), dtype="bool")
    y = LAYERS[name](units, name="recurrent")(x, mask=mask)
    return keras.Model([x, mask], y)


def gradients(function, variables):
    """Gradients of a scalar function of no arguments, on any backend."""
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch([v.value for v in variables])
            loss = function()
        grads = tape.gradient(loss, [v.value for v in variables])
        return [g.numpy() for g in grads]
    if backend == "torch":
        for v in variables:
            v.value.grad = None
        function().backward()
        return [v.value.grad.detach().cpu().numpy() for v in variables]
    import jax

    def stateless(values):
        scope = keras.StatelessScope(list(zip(variables, values)))
        with scope:
            return function()

    grads = jax.grad(stateless)([v.value for v in variables])
    return [np.asarray(g) for g in grads]


def skip_unless_deployable():
    """Skips a test that converts models and runs them with the delegate."""
    if keras.backend.backend() != "tensorflow":
        pytest.skip("converts in this process: runs on TensorFlow")
    try:
        native.library_path()
    except FileNotFoundError:
        pytest.skip("the native library is not built: make native")


def check_occupancy(first, second):
    """The counts of two runners: rounding may turn the sign of an entry."""
    found, expected = first.occupancy(), second.occupancy()
    assert found.keys() == expected.keys() != set()
    for layer, operands in found.items():
        assert operands == pytest.approx(expected[layer], abs=1e-3)


def pages():
    """The files of the guide, and those elsewhere that the site shows."""
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    elsewhere = site["extra"]["pages"].values()
    return [
        *(ROOT / path for path in elsewhere),
        *sorted((ROOT / "docs").glob("*.md")),
    ]
