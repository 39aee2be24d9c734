"""Counting in models of every structure."""

import keras
import numpy as np
import pytest

import keras_duspar
from tests import reference
from tests.helpers import CELLS
from tests.helpers import NAMES
from tests.helpers import assert_close
from tests.helpers import randomize
from tests.helpers import weights_of


def expected_occupancies(name, layer, x):
    _, _, operands = reference.run(name, weights_of(layer), x)
    return {
        key: np.mean([step[key] != 0 for step in operands])
        for key in operands[0]
    }


def test_nested_functional_and_bidirectional(rng):
    x = rng.normal(size=(2, 9, 4)).astype("float32")
    inner_in = keras.Input((None, 6))
    inner_out = keras_duspar.SpaR(5, return_sequences=True, name="spar")(
        inner_in
    )
    inner = keras.Model(inner_in, inner_out, name="inner")
    outer_in = keras.Input((None, 4))
    hidden = keras.layers.Bidirectional(
        keras_duspar.DuSpaR(3, return_sequences=True, name="duspar"),
        name="both",
    )(outer_in)
    model = keras.Model(outer_in, keras.layers.Dense(2)(inner(hidden)))
    randomize(model)
    profile = keras_duspar.profile(model, x)
    rows = {layer.name: layer for layer in profile.layers}
    assert {"both/forward_duspar", "both/backward_duspar", "inner/spar"} < set(
        rows
    )
    both = model.get_layer("both")
    there = expected_occupancies("duspar", both.forward_layer, x)
    back = expected_occupancies("duspar", both.backward_layer, x[:, ::-1])
    assert rows["both/forward_duspar"].occupancies == pytest.approx(there)
    assert rows["both/backward_duspar"].occupancies == pytest.approx(back)
    # The curve of the backward layer runs in real time, too.
    _, _, steps = reference.run(
        "duspar", weights_of(both.backward_layer), x[:, ::-1]
    )
    curve = [np.mean(step["e"] != 0) for step in steps][::-1]
    assert_close(rows["both/backward_duspar"].over_time["e"], np.array(curve))


def test_subclassed_model(rng):
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.blocks = [keras_duspar.DuSpaR(4, return_sequences=True)]
            self.parts = {"head": keras.layers.Dense(2)}
            self.head = self.parts["head"]

        def call(self, inputs):
            for block in self.blocks:
                inputs = block(inputs)
            return self.head(inputs)

    x = rng.normal(size=(2, 5, 3)).astype("float32")
    profile = keras_duspar.profile(Model(), x)
    assert [layer.kind for layer in profile.layers] == ["DuSpaR", "Dense"]
    assert profile.dense_macs == 4 * 3 * 4 + 4 * 2


@pytest.mark.parametrize("name", NAMES)
def test_bare_and_stacked_cells(name, rng):
    x = rng.normal(size=(2, 6, 4)).astype("float32")
    cells = [CELLS[name](5), CELLS[name](3)]
    model = keras.Sequential(
        [keras.layers.RNN(keras.layers.StackedRNNCells(cells))]
    )
    model(x)
    randomize(model)
    stacked = keras_duspar.profile(model, x)
    bare = [
        keras.layers.RNN(cells[0], return_sequences=True),
        keras.layers.RNN(cells[1]),
    ]
    separate = keras_duspar.profile(keras.Sequential(bare), x)
    assert stacked.effective_macs == pytest.approx(separate.effective_macs)
    assert stacked.dense_macs == separate.dense_macs
    assert stacked.params == separate.params
    occupancies = {
        f"{i}.{key}": value
        for i, layer in enumerate(separate.layers)
        for key, value in layer.occupancies.items()
    }
    assert stacked.layers[0].occupancies == pytest.approx(occupancies)


@pytest.mark.parametrize("kind, gates", [("GRU", 3), ("LSTM", 4)])
def test_keras_own_layers(kind, gates, rng):
    x = rng.normal(size=(2, 6, 4)).astype("float32")
    layer = getattr(keras.layers, kind)(5)
    profile = keras_duspar.profile(keras.Sequential([layer]), x, 10)
    assert profile.dense_macs == profile.effective_macs
    assert profile.dense_macs == 10 * gates * 5 * (4 + 5)
    assert profile.params == layer.count_params()


def test_shared_layer_counts_every_call(rng):
    x = rng.normal(size=(2, 6, 4)).astype("float32")
    inputs = keras.Input((6, 4))
    first = keras_duspar.SpaR(4, return_sequences=True)(inputs)
    shared = keras.layers.Dense(4)
    model = keras.Model(inputs, shared(shared(first)))
    profile = keras_duspar.profile(model, x, 10)
    assert profile.layers[1].steps_per_second == 20
    assert profile.layers[1].dense_macs == 20 * 16


def test_time_distributed(rng):
    x = rng.normal(size=(2, 3, 6, 4)).astype("float32")
    layer = keras_duspar.DuSpaR(5, name="duspar")
    model = keras.Sequential(
        [keras.Input((3, 6, 4)), keras.layers.TimeDistributed(layer)]
    )
    randomize(model)
    profile = keras_duspar.profile(model, x, 10)
    inner = model.layers[0].layer
    expected = expected_occupancies("duspar", inner, x.reshape(6, 6, 4))
    assert profile.steps == 2 * 3 * 6
    assert profile.layers[0].occupancies == pytest.approx(expected)


def products(*shapes):
    """MACs of products of matrices, each with its number of rows."""
    return sum(rows * inputs * outputs for rows, inputs, outputs in shapes)


def test_layers_at_each_step(rng):
    """Images and vectors at every time step, pooled, of an odd length."""
    inputs = keras.Input((None, 8, 6, 2))
    at_each = keras.layers.TimeDistributed
    x = at_each(keras.layers.Conv2D(4, 3, strides=2), name="conv")(inputs)
    x = at_each(keras.layers.DepthwiseConv2D(2), name="depthwise")(x)
    x = at_each(keras.layers.SeparableConv2D(5, (1, 1)), name="separable")(x)
    x = at_each(keras.layers.Flatten())(x)
    x = keras_duspar.SpaR(4, return_sequences=True, name="spar")(x)
    x = keras_duspar.audio.TemporalPooling(2)(x)
    model = keras.Model(inputs, at_each(keras.layers.Dense(3))(x))
    found = keras_duspar.profile(
        model, rng.normal(size=(2, 7, 8, 6, 2)).astype("float32")
    )
    assert found.uncounted == [] and found.params == model.count_params()
    rows = {layer.name: layer.dense_macs for layer in found.layers}
    assert rows == {
        "conv": products((3 * 2, 3 * 3 * 2, 4)),
        "depthwise": products((2 * 1, 2 * 2, 4)),
        "separable": products((2, 1, 4), (2, 4, 5)),
        "spar": products((1, 10, 2 * 4)),
        model.layers[-1].name: products((1, 4, 3)) / 2,
    }


def test_attention(rng):
    """The four products with weights; those of activations have none."""
    inputs = keras.Input((None, 6))
    x = keras_duspar.SpaR(6, return_sequences=True, name="spar")(inputs)
    memory = keras.layers.AveragePooling1D(2)(x)
    attend = keras.layers.MultiHeadAttention(3, 4, name="attend")
    model = keras.Model(inputs, attend(x, memory))
    found = keras_duspar.profile(
        model, rng.normal(size=(2, 8, 6)).astype("float32")
    )
    assert found.uncounted == [] and found.params == model.count_params()
    rows = {layer.name: layer for layer in found.layers}
    macs = {
        "query": products((1, 6, 3 * 4)),
        "key": products((1, 6, 3 * 4)) / 2,
        "value": products((1, 6, 3 * 4)) / 2,
        "attention_output": products((1, 3 * 4, 6)),
    }
    assert {n: rows[f"attend/{n}"].dense_macs for n in macs} == macs
    assert rows["attend/query"].biases == 3 * 4


@pytest.mark.parametrize(
    "make, macs",
    [
        (
            lambda: keras.layers.SeparableConv1D(5, 3, depth_multiplier=2),
            3 * 4 * 2 + 4 * 2 * 5,
        ),
        (lambda: keras.layers.Conv1D(8, 3, groups=2), 3 * 2 * 8),
        (lambda: keras.layers.EinsumDense("abc,cd->abd", (None, 5)), 4 * 5),
        (lambda: keras.layers.EinsumDense("...x,xy->...y", 5), 4 * 5),
    ],
    ids=["separable", "groups", "einsum", "ellipsis"],
)
def test_other_products(make, macs, rng):
    model = keras.Sequential(
        [
            keras.Input((9, 4)),
            keras.layers.ZeroPadding1D((2, 0)),
            make(),
            keras_duspar.SpaR(2, name="spar"),
        ]
    )
    found = keras_duspar.profile(
        model, rng.normal(size=(1, 9, 4)).astype("float32"), 10
    )
    assert found.layers[0].dense_macs == 10 * macs
