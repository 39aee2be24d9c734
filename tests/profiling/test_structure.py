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
