"""Cells refuse bad arguments, states and inputs."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_duspar
from tests.cells.test_cells import BATCH
from tests.cells.test_cells import FEATURES
from tests.cells.test_cells import built_cell
from tests.cells.test_cells import zero_states
from tests.helpers import CELLS
from tests.helpers import NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("units", [0, -1, 2.5, "8", None, True, [4]])
def test_bad_units(name, units):
    with pytest.raises(ValueError, match="`units` must be a positive integer"):
        CELLS[name](units)


@pytest.mark.parametrize("theta", [-0.1, float("nan"), float("inf"), "x", None])
def test_bad_theta(theta):
    with pytest.raises(ValueError, match="`theta` must be a number in"):
        keras_duspar.DeltaGRU(4, theta=theta)


@pytest.mark.parametrize("ratio", [0, -1, 1.01, float("nan"), "x"])
def test_bad_update_ratio(ratio):
    with pytest.raises(ValueError, match="`update_ratio` must be a number in"):
        keras_duspar.DynamicGRU(4, update_ratio=ratio)


@pytest.mark.parametrize(
    "argument, values",
    [
        ("threshold_mean", (0, 1, -0.2)),
        ("surrogate_height", (-0.1, float("inf"))),
        ("surrogate_width", (0, -1, float("inf"))),
    ],
)
def test_bad_egru_arguments(argument, values):
    for value in (*values, float("nan"), "x", None):
        with pytest.raises(ValueError, match=f"`{argument}` must be a number"):
            keras_duspar.EGRU(4, **{argument: value})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dropout", [-0.1, 1, float("nan"), "x"])
def test_bad_dropout(name, dropout):
    with pytest.raises(ValueError, match="`dropout` must be a number in"):
        CELLS[name](4, dropout=dropout)


@pytest.mark.parametrize("name", NAMES)
def test_bad_dtype(name):
    with pytest.raises(ValueError, match="`dtype` must be of a floating"):
        CELLS[name](4, dtype="int32")
    cell = built_cell(name)
    x = ops.ones((BATCH, FEATURES), dtype="int32")
    cell.autocast = False
    with pytest.raises(ValueError, match="`inputs` must be of a floating"):
        cell(x, zero_states(name))


@pytest.mark.parametrize("name", NAMES)
def test_bad_states(name):
    cell = built_cell(name)
    x = np.zeros((BATCH, FEATURES), "float32")
    states = zero_states(name)
    for wrong in (
        [*states, states[0]],
        [s[:, 1:] for s in states],
        [s[0] for s in states],
    ):
        with pytest.raises(ValueError, match="`states` of .* must be"):
            cell(ops.convert_to_tensor(x), wrong)


@pytest.mark.parametrize("name", NAMES)
def test_bad_rank(name):
    with pytest.raises(ValueError, match="`inputs` of .* must be of shape"):
        CELLS[name](4).build((None, 3, 5))
    with pytest.raises(ValueError, match="`inputs` of .* must be of shape"):
        CELLS[name](4).build((None, None))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_bad_initializer(value):
    constant = keras.initializers.Constant(value)
    for argument, name in (
        ("kernel_initializer", "mingru"),
        ("bias_initializer", "duspar"),
        ("gate_bias_initializer", "spar"),
        ("recurrent_initializer", "irnn"),
    ):
        cell = CELLS[name](4, **{argument: constant})
        with pytest.raises(ValueError, match=f"`{argument}` must give finite"):
            cell.build((None, FEATURES))
