"""Layers are found at any depth, each once, under one name."""

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar.layers import walking
from keras_duspar.quantization.model import quantized_layers
from keras_duspar.utils.nesting import walk
from tests.helpers import assert_close


@pytest.fixture
def model():
    """A nested model, a wrapper, a stack of cells, and a layer used twice."""
    shared = keras_duspar.SpaR(4, return_sequences=True, name="shared")
    inner = keras.Sequential(
        [keras.Input((None, 4)), shared, keras.layers.Dense(4, name="dense")],
        name="inner",
    )
    cells = [keras_duspar.DuSpaRCell(4), keras.layers.LSTMCell(5)]
    inputs = keras.Input((None, 4))
    x = shared(inner(shared(inputs)))
    x = keras.layers.Bidirectional(
        keras_duspar.DuSpaR(3, name="dual"), name="both"
    )(x)
    x = keras.layers.RepeatVector(2)(x)
    x = keras.layers.RNN(cells, name="stack")(x)
    return keras.Model(inputs, x, name="model")


def test_paths(model):
    found = walking.recurrent_layers(model)
    assert set(found) == {
        "shared",
        "both/forward_dual",
        "both/backward_dual",
        "stack",
    }
    assert found["shared"] is model.get_layer("shared")
    layers = [layer for _, layer in walk(model)]
    assert len({id(layer) for layer in layers}) == len(layers)


def test_equal_names_differ():
    inputs = keras.Input((None, 4))
    outputs = keras_duspar.SpaR(4, name="model")(inputs)
    model = keras.Model(inputs, outputs, name="model")
    assert set(walking.recurrent_layers(model)) == {"model'"}


def test_profile_and_quantization_use_the_same_paths(model):
    x = np.random.default_rng(0).normal(size=(2, 5, 4)).astype("float32")
    found = walking.recurrent_layers(model)
    profile = keras_duspar.profile(model, x)
    assert {x.name for x in profile.layers if x.recurrent} == set(found)
    with pytest.warns(UserWarning, match="not quantized"):
        quantized = keras_duspar.quantize(model)
    paths = quantized_layers(quantized)
    assert {"shared/cell", "both/forward_dual/cell/feedback"} <= set(paths)
    assert all(layer.quantizer is not None for layer in paths.values())


def test_a_step_of_a_stack(model):
    cell = model.get_layer("stack").cell
    x = keras.ops.convert_to_tensor(
        np.random.default_rng(1).normal(size=(2, 6)).astype("float32")
    )
    states = cell.get_initial_state(2)
    output, new, operands = walking.cell_step(cell, x, states)
    expected, expected_states = cell(x, states)
    assert_close(output, expected)
    for a, b in zip(keras.tree.flatten(new), keras.tree.flatten(states)):
        assert a.shape == b.shape
    for a, b in zip(
        keras.tree.flatten(new), keras.tree.flatten(expected_states)
    ):
        assert_close(a, b)
    assert set(operands) == {"0.e", "0.y"}
    assert walking.output_size(cell, keras.tree.flatten(states)) == 5
    names = walking.state_names(cell, 4)
    assert names == ["0.f", "0.g", "1.h", "1.c"]
