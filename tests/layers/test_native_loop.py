"""Layers that train in the native library, against Keras' own loop."""

import re

import keras
import numpy as np
import pytest
from keras import ops

import keras_duspar
from keras_duspar import native
from keras_duspar.layers import native_loop
from keras_duspar.native import sparse_ops
from tests.helpers import LAYERS
from tests.helpers import assert_close
from tests.helpers import randomize
from tests.helpers import to_numpy

BOTH = pytest.mark.parametrize("name", ["duspar", "spar"])


@pytest.fixture(autouse=True)
def _library(monkeypatch):
    monkeypatch.delenv(native_loop.VARIABLE, raising=False)
    if native_loop.missing():
        pytest.skip(native_loop.missing())


@pytest.fixture
def runs(monkeypatch):
    """Counts what runs in the native library."""
    found = []
    run = native_loop.run

    def counted(layer, *args):
        found.append(layer.name)
        return run(layer, *args)

    monkeypatch.setattr(native_loop, "run", counted)
    return found


class Everything(keras.Model):
    """A layer whose input and initial states are weights, too.

    Its output is a number that depends on all outputs and final states.
    """

    def __init__(self, layer, x, states, mask=None):
        super().__init__()
        self.layer = layer
        vars(self)["mask"] = mask
        self.given = [
            self.add_weight(shape=a.shape, name=f"given_{i}")
            for i, a in enumerate([x, *states])
        ]
        for variable, value in zip(self.given, [x, *states]):
            variable.assign(value)
        layer.build(x.shape)
        randomize(layer)

    def call(self, inputs, training=False):
        x, *states = (ops.convert_to_tensor(v) for v in self.given)
        results = self.layer(
            x, initial_state=states, mask=self.mask, training=training
        )
        results = results if isinstance(results, (list, tuple)) else [results]
        total = ops.sum(inputs) * 0
        for i, result in enumerate(results):
            total += ops.sum(ops.sin((i + 1.3) * result))
        return ops.reshape(total, (1, 1))


def gradients(name, implementation, shape, mask=None, **kwargs):
    """All gradients by name, read off one step of gradient descent."""
    batch, steps, features, units = shape
    rng = np.random.default_rng(3)
    x = rng.normal(size=(batch, steps, features))
    widths = [units, features][: 2 if name == "duspar" else 1]
    states = [rng.normal(size=(batch, width)) for width in widths]
    layer = LAYERS[name](
        units,
        return_sequences=True,
        return_state=mask is None,
        implementation=implementation,
        **kwargs,
    )
    model = Everything(layer, x, states, mask)
    model.compile(
        keras.optimizers.SGD(1.0), lambda target, output: ops.mean(output)
    )
    before = [to_numpy(w.value) * 1.0 for w in model.trainable_weights]
    one = np.ones((1, 1), "float32")
    loss = model.train_on_batch(one, one)
    found = {
        w.path.split("/", 1)[-1]: old - to_numpy(w.value)
        for w, old in zip(model.trainable_weights, before)
    }
    return {"loss": np.asarray(loss), **found}


def assert_same_gradients(name, shape, **kwargs):
    expected = gradients(name, "keras", shape, **kwargs)
    found = gradients(name, "native", shape, **kwargs)
    assert len(found) == len(expected) == (12 if name == "duspar" else 6)
    for (key, value), reference in zip(found.items(), expected.values()):
        scale = np.abs(reference).max()
        assert scale > 0 or shape[1] == 1, key
        assert np.abs(value - reference).max() <= 1e-5 * max(scale, 0.1), key


@pytest.mark.parametrize(
    "shape", [(1, 1, 1, 1), (3, 7, 5, 6), (17, 4, 33, 20), (2, 11, 16, 31)]
)
def test_gradients_of_duspar(shape):
    assert_same_gradients("duspar", shape)


@pytest.mark.parametrize("shape", [(1, 1, 3, 2), (18, 5, 7, 40)])
def test_gradients_of_spar(shape):
    assert_same_gradients("spar", shape)


def test_gradients_with_recomputation_backwards(monkeypatch):
    monkeypatch.setenv("KERAS_DUSPAR_TRAINING_CHUNK", "3")
    assert_same_gradients("duspar", (2, 8, 5, 6), go_backwards=True)


def test_memory_is_bounded_and_changes_nothing():
    try:
        kept, _ = fit("native")
        held = native.training_memory()
        assert held > 0
        assert native.training_memory(0) == 0
        again, _ = fit("native")
        assert again == kept
        assert native.training_memory() == 0
    finally:
        native.training_memory(2**30)
    with pytest.raises(ValueError, match="`limit` must be"):
        native.training_memory(-1)


@BOTH
@pytest.mark.parametrize(
    "options",
    [{}, {"return_sequences": True, "go_backwards": True}, {"stateful": True}],
    ids=["last", "backwards", "stateful"],
)
def test_outputs_and_states(name, options, rng, runs):
    x = rng.normal(size=(4, 6, 5)).astype("float32")
    results = []
    for implementation in ("keras", "auto"):
        layer = LAYERS[name](
            7, return_state=True, implementation=implementation, **options
        )
        layer.build(x.shape)
        randomize(layer)
        first = layer(x, training=True)
        results.append([first, layer(x, training=True)])
    assert len(runs) == 2
    assert_close(results[1], results[0], atol=2e-6)


def fit(implementation, seed=0):
    keras.utils.set_random_seed(seed)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(20, 9, 6)).astype("float32")
    y = rng.integers(0, 3, 20)
    layers = [
        LAYERS[name](8, return_sequences=True, implementation=implementation)
        for name in ("duspar", "spar")
    ]
    model = keras.Sequential(
        [
            keras.Input((None, 6)),
            *layers,
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(3),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.AdamW(1e-2), loss)
    # The last batch is smaller.
    history = model.fit(x, y, 8, epochs=4, shuffle=False, verbose=0)
    return history.history["loss"], model


def test_fit_follows_the_same_curve_every_time(runs):
    expected, _ = fit("keras")
    assert not runs
    losses, model = fit("auto")
    assert runs
    assert re.fullmatch(
        r"native \(\w+\): duspar\w*, spar\w*",
        native_loop.used_by(model.layers),
    )
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    assert losses[-1] < losses[0]
    again, other = fit("auto")
    assert again == losses
    for a, b in zip(model.get_weights(), other.get_weights()):
        np.testing.assert_array_equal(a, b)


def test_saved_and_loaded(tmp_path, runs):
    _, model = fit("native")
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.layers[0].implementation == "native"
    x = np.ones((8, 9, 6), "float32")
    assert_close(loaded(x, training=False), model(x, training=False), atol=0)
    runs.clear()
    loaded.train_on_batch(x, np.zeros(8, "int32"))
    assert runs


@pytest.mark.parametrize(
    "name, options, words",
    [
        ("duspar", {"dropout": 0.2}, "dropout"),
        ("duspar", {"recurrent_dropout": 0.2}, "dropout"),
        ("duspar", {"dtype": "mixed_float16"}, "mixed_float16"),
        ("duspar", {"unroll": True}, "unroll"),
        ("spar", {"parallel": True}, "parallel"),
        ("mingru", {}, "MinGRUCell"),
    ],
)
def test_what_stands_against_it(name, options, words, rng, runs):
    x = rng.normal(size=(2, 4, 5)).astype("float32")
    layer = LAYERS[name](3, implementation="native", **options)
    assert np.isfinite(to_numpy(ops.cast(layer(x), "float32"))).all()
    with pytest.raises(ValueError, match=f"'native'.*{words}"):
        layer(x, training=True)
    layer = LAYERS[name](3, **options)  # "auto"
    assert np.isfinite(
        to_numpy(ops.cast(layer(x, training=True), "float32"))
    ).all()
    assert not runs


MASK = np.array(
    [[1, 1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 0, 1, 0], [1] * 7, [0] * 7], bool
)


@pytest.mark.parametrize(
    "name, options",
    [
        ("duspar", {}),
        ("spar", {"zero_output_for_mask": True}),
        ("duspar", {"go_backwards": True}),
    ],
    ids=["duspar", "zeros", "backwards"],
)
def test_gradients_with_masks(name, options):
    assert_same_gradients(name, (4, 7, 5, 6), mask=MASK, **options)


@BOTH
def test_masked_outputs(name, rng, runs):
    x = rng.normal(size=(4, 7, 5)).astype("float32")
    for options in ({}, {"return_sequences": True}):
        layer = LAYERS[name](3, implementation="native", **options)
        layer.build(x.shape)
        randomize(layer)
        actual = layer(x, mask=MASK, training=True)
        assert_close(actual, layer(x, mask=MASK), atol=2e-6)
    assert len(runs) == 2


@pytest.mark.parametrize("option", ["return_state", "stateful"])
def test_states_behind_masks_are_left_to_keras(option, rng, runs):
    x = rng.normal(size=(4, 7, 5)).astype("float32")
    layer = keras_duspar.DuSpaR(3, implementation="native", **{option: True})
    with pytest.raises(ValueError, match="a mask and the final states"):
        layer(x, mask=MASK, training=True)
    assert not runs


def test_inference_is_left_to_keras(rng, runs):
    layer = keras_duspar.DuSpaR(3, implementation="native")
    layer(rng.normal(size=(2, 4, 5)).astype("float32"))
    assert not runs


def test_a_subclass_of_a_cell_is_left_to_keras(rng, runs):
    class Louder(keras_duspar.SpaRCell):
        def candidate(self, operand):
            return 2 * super().candidate(operand)

    class LouderSpaR(keras_duspar.SpaR):
        cell_class = Louder

    x = rng.normal(size=(2, 4, 5)).astype("float32")
    layer = LouderSpaR(3)
    assert_close(layer(x, training=True), layer(x))
    assert not runs


@pytest.mark.parametrize(
    "name, biases, reason",
    [
        # Files may have it, for another library.
        ("Other", ["gate_bias"], "cannot train the operator 'Other'"),
        ("SpaR", [], "'SpaR' takes weights of shapes"),
    ],
)
def test_an_operator_that_the_library_cannot_train(
    monkeypatch, rng, runs, name, biases, reason
):
    """Training is left to Keras."""

    class OtherCell(keras_duspar.SpaRCell):
        pass

    class Other(keras_duspar.SpaR):
        cell_class = OtherCell

    monkeypatch.setattr(sparse_ops, "_SPARSE_OPS", {})
    sparse_ops.register_sparse_op(OtherCell)(
        lambda cell: sparse_ops.SparseOp(
            name,
            [cell.gate_kernel, cell.candidate_kernel],
            [getattr(cell, bias) for bias in biases],
        )
    )
    x = rng.normal(size=(2, 4, 5)).astype("float32")
    layer = Other(3)
    assert_close(layer(x, training=True), layer(x))
    assert not runs
    assert reason in native_loop.used_by([layer])
    layer.implementation = "native"
    with pytest.raises(ValueError, match=f"`implementation='native'.*{reason}"):
        layer(x, training=True)


def test_switched_off_for_all(monkeypatch, rng, runs):
    x = rng.normal(size=(2, 4, 5)).astype("float32")
    layer = keras_duspar.DuSpaR(3)
    monkeypatch.setenv(native_loop.VARIABLE, "keras")
    layer(x, training=True)
    assert not runs
    assert native_loop.used_by([layer]).startswith("Keras (`implementation`")
    monkeypatch.setenv(native_loop.VARIABLE, "fast")
    with pytest.raises(ValueError, match="KERAS_DUSPAR_IMPLEMENTATION"):
        layer(x, training=True)


def test_unknown_implementation():
    with pytest.raises(ValueError, match="`implementation` must be one of"):
        keras_duspar.DuSpaR(3, implementation="fast")
    assert keras_duspar.DuSpaR(3).get_config()["implementation"] == "auto"
