"""Cells against their equations in NumPy."""

import inspect

import keras
import numpy as np
import pytest
from keras import ops

import keras_duspar
from tests import reference
from tests.helpers import CELLS
from tests.helpers import NAMES
from tests.helpers import assert_close
from tests.helpers import gradients
from tests.helpers import randomize
from tests.helpers import saved_and_loaded
from tests.helpers import weights_of

FEATURES, UNITS, BATCH, STEPS = 5, 6, 3, 12


def built_cell(name, **kwargs):
    cell = CELLS[name](UNITS, **kwargs)
    cell.build((None, FEATURES))
    randomize(cell)
    return cell


def zero_states(name, dtype="float32"):
    states = reference.zero_states(name, BATCH, FEATURES, UNITS)
    return [s.astype(dtype) for s in states]


@pytest.mark.parametrize("name", NAMES)
def test_equals_reference(name, rng):
    cell = built_cell(name)
    x = rng.normal(size=(BATCH, STEPS, FEATURES)).astype("float32")
    weights = weights_of(cell)
    states, expected_states = zero_states(name), zero_states(name, "float64")
    for t in range(STEPS):
        output, states = cell(ops.convert_to_tensor(x[:, t]), states)
        expected, expected_states, _ = reference.STEPS[name](
            weights, x[:, t].astype("float64"), expected_states
        )
        assert_close([output, *states], [expected, *expected_states])


@pytest.mark.parametrize("name", NAMES)
def test_operands_are_those_of_the_reference(name, rng):
    cell = built_cell(name)
    x = rng.normal(size=(BATCH, FEATURES)).astype("float32")
    states = [
        rng.normal(size=s.shape).astype("float32") for s in zero_states(name)
    ]
    _, _, operands = cell.step(
        ops.convert_to_tensor(x), [ops.convert_to_tensor(s) for s in states]
    )
    expected = reference.STEPS[name](weights_of(cell), x, states)[2]
    assert list(operands) == list(expected)
    assert_close(list(operands.values()), list(expected.values()))
    sizes = {o.name: o.size for o in cell.cost().operands}
    assert sizes == {k: v.shape[-1] for k, v in expected.items()}


@pytest.mark.parametrize("name", NAMES)
def test_gradients_equal_finite_differences(name, rng, float64):
    # An event's derivative is not that of its value: see below.
    options = {"surrogate_height": 0} if name == "egru" else {}
    cell = built_cell(name, dtype="float64", **options)
    x = keras.Variable(rng.normal(size=(4, 2, FEATURES)), dtype="float64")
    start = [
        keras.Variable(rng.normal(size=s.shape)[:2], dtype="float64")
        for s in zero_states(name)
    ]
    variables = [x, *start, *cell.trainable_weights]
    weighting = ops.convert_to_tensor(rng.normal(size=(4, 2, UNITS)))

    def loss():
        states = [ops.convert_to_tensor(s) for s in start]
        total = 0.0
        for t in range(4):
            output, states = cell(x[t], states)
            total = total + ops.sum(output * weighting[t])
        return total + sum(ops.sum(s * s) for s in states)

    def loss_at(variable, value):
        kept = np.array(ops.convert_to_numpy(variable))
        variable.assign(value)
        result = float(ops.convert_to_numpy(ops.stop_gradient(loss())))
        variable.assign(kept)
        return result

    for variable, gradient in zip(variables, gradients(loss, variables)):
        value = np.array(ops.convert_to_numpy(variable))
        for _ in range(2):
            direction = rng.normal(size=value.shape)
            low = loss_at(variable, value - 1e-6 * direction)
            high = loss_at(variable, value + 1e-6 * direction)
            np.testing.assert_allclose(
                np.sum(gradient * direction),
                (high - low) / 2e-6,
                rtol=1e-5,
                atol=1e-6,
            )


@pytest.mark.parametrize("height, width", [(0.7, 1.0), (0.3, 0.25)])
def test_egru_gradients_equal_those_by_hand(height, width, rng, float64):
    cell = built_cell(
        "egru", surrogate_height=height, surrogate_width=width, dtype="float64"
    )
    x = keras.Variable(rng.normal(size=(STEPS, BATCH, FEATURES)), "float64")
    start = [
        keras.Variable(rng.normal(size=s.shape), dtype="float64")
        for s in zero_states("egru")
    ]
    weighting = rng.normal(size=(STEPS + 2, BATCH, UNITS))

    def loss():
        states = [ops.convert_to_tensor(s) for s in start]
        outputs = []
        for t in range(STEPS):
            output, states = cell(x[t], states)
            outputs.append(output)
        total = ops.stack([*outputs, *states])
        return ops.sum(total * ops.convert_to_tensor(weighting))

    found = gradients(loss, [x, *start, *cell.trainable_weights])
    d_x, d_start, d_weights = reference.egru_gradients(
        weights_of(cell),
        ops.convert_to_numpy(x),
        [ops.convert_to_numpy(s) for s in start],
        weighting[:STEPS],
        weighting[STEPS:],
        height,
        width,
    )
    names = [w.name for w in cell.trainable_weights]
    assert names == ["kernel", "recurrent_kernel", "bias", "threshold"]
    expected = [d_x, *d_start, *(d_weights[n] for n in names)]
    assert_close(found, expected, atol=1e-9)


@pytest.mark.parametrize(
    "name, options",
    [("delta_gru", {"theta": 0}), ("dynamic_gru", {"update_ratio": 1.0})],
)
def test_without_skipping_is_gru(name, options, rng):
    cell = built_cell(name, **options)
    gru = keras.layers.GRUCell(UNITS)
    gru.build((None, FEATURES))
    gru.set_weights(cell.get_weights())
    x = rng.normal(size=(BATCH, STEPS, FEATURES)).astype("float32")
    expected = keras.layers.RNN(gru, return_sequences=True)(x)
    assert_close(keras.layers.RNN(cell, return_sequences=True)(x), expected)


def test_delta_gru_equals_running_sums(rng):
    cell = built_cell("delta_gru", theta=0.3)
    x = rng.normal(size=(BATCH, 40, FEATURES)).astype("float32")
    expected = reference.delta_gru_by_sums(
        weights_of(cell), x.swapaxes(0, 1).astype("float64"), theta=0.3
    )
    outputs = keras.layers.RNN(cell, return_sequences=True)(x)
    assert_close(outputs, expected.swapaxes(0, 1))


def test_delta_gru_does_not_drift(rng):
    """After 100,000 steps the outputs are still those of a GRU."""
    if keras.backend.backend() == "torch":
        pytest.skip("a step takes a millisecond on torch; equal arithmetic")
    layer = keras_duspar.DeltaGRU(4, theta=0, return_sequences=True)
    gru = keras.layers.GRU(4, return_sequences=True)
    x = rng.normal(size=(1, 100_000, 3)).astype("float32")
    layer.build(x.shape)
    gru.build(x.shape)
    gru.set_weights(layer.get_weights())
    run = keras.Sequential([keras.Input((None, 3)), layer]).predict_on_batch
    run_gru = keras.Sequential([keras.Input((None, 3)), gru]).predict_on_batch
    assert_close(run(x)[:, -1000:], run_gru(x)[:, -1000:])


@pytest.mark.parametrize("ratio, count", [(0.5, 3), (0.01, 1), (1, 6)])
def test_dynamic_gru_selects_exactly(ratio, count, rng):
    """Also where all gates are equal, as they are at a first step."""
    cell = built_cell("dynamic_gru", update_ratio=ratio)
    for w in cell.weights:
        w.assign(np.zeros(w.shape))
    x = np.zeros((BATCH, FEATURES), "float32")
    h = rng.normal(size=(BATCH, UNITS)).astype("float32")
    output, _, operands = cell.step(
        ops.convert_to_tensor(x), [ops.convert_to_tensor(h)]
    )
    selected = ops.convert_to_numpy(operands["selected"])
    assert (selected.sum(axis=-1) == count).all()
    changed = ops.convert_to_numpy(output) != h
    assert changed[:, :count].all() and not changed[:, count:].any()


def test_egru_events_by_hand():
    """Two steps of three units: beyond, at and below their threshold."""
    cell = keras_duspar.EGRUCell(3)
    cell.build((None, 1))
    for w in cell.weights:
        w.assign(np.zeros(w.shape))
    cell.threshold.assign([0.25, 0.25, 0.5])
    # With zero weights z = 0.5 and g = 0, so a step halves the state.
    x = ops.zeros((1, 1))
    y, c = np.zeros((1, 3), "float32"), np.array([[1, 0.5, 0.5]], "float32")
    y, (same, c) = cell(x, [y, c])
    assert_close(y, np.array([[0.5, 0, 0]]), atol=0)
    assert_close(same, y, atol=0)
    assert_close(c, np.array([[0.25, 0.25, 0.25]]), atol=0)
    y, (_, c) = cell(x, [y, c])
    assert_close(y, np.zeros((1, 3)), atol=0)
    assert_close(c, np.array([[0.125, 0.125, 0.125]]), atol=0)


@pytest.mark.parametrize("mean", [0.1, 0.3, 0.8])
def test_egru_thresholds(mean):
    """Drawn from the beta distribution; training keeps them in [0, 1]."""
    keras.utils.set_random_seed(1)
    cell = keras_duspar.EGRUCell(20_000, threshold_mean=mean)
    drawn = ops.convert_to_numpy(cell._draw_thresholds((20_000,), "float32"))
    assert drawn.min() >= 0 and drawn.max() <= 1
    assert drawn.mean() == pytest.approx(mean, abs=0.01)
    # The parameters add up to 3 / (1 - mean).
    variance = mean * (1 - mean) / (3 / (1 - mean) + 1)
    assert drawn.var() == pytest.approx(variance, rel=0.05)
    layer = keras_duspar.EGRU(8, threshold_mean=mean)
    model = keras.Sequential([keras.Input((None, FEATURES)), layer])
    model.compile(keras.optimizers.SGD(1e4), "mse")
    x = np.ones((2, STEPS, FEATURES), "float32")
    before = ops.convert_to_numpy(layer.cell.threshold)
    assert len(set(before)) == 8
    model.train_on_batch(x, np.ones((2, 8), "float32"))
    after = ops.convert_to_numpy(layer.cell.threshold)
    assert np.abs(after - before).max() > 0.01
    assert after.min() >= 0 and after.max() <= 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [None, 3, "generator"])
def test_kernels_of_one_shape_differ(name, seed):
    if seed == "generator":
        seed = keras.random.SeedGenerator(3)
    initializer = keras.initializers.GlorotUniform(seed=seed)
    cell = CELLS[name](FEATURES, kernel_initializer=initializer)
    cell.build((None, FEATURES))
    kernels = [w for w in cell.get_weights() if w.ndim == 2 and w.std() > 0]
    for i, a in enumerate(kernels):
        for b in kernels[:i]:
            assert a.shape != b.shape or np.abs(a - b).max() > 0.01


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_repeats_the_weights(name):
    def weights():
        cell = CELLS[name](
            UNITS, kernel_initializer=keras.initializers.HeNormal(seed=5)
        )
        cell.build((None, FEATURES))
        return [w for w in cell.weights if w.name.endswith("kernel")]

    kernel = {"irnn", "ligru", "delta_gru", "dynamic_gru", "egru"}
    first, second = weights(), weights()
    if name in kernel:  # recurrent kernels have an initializer of their own
        first, second = first[:1], second[:1]
    assert_close(first, second, atol=0)


@pytest.mark.parametrize("name", NAMES)
def test_config_round_trip(name):
    cell = CELLS[name](
        4,
        kernel_initializer=keras.initializers.HeNormal(seed=3),
        kernel_regularizer=keras.regularizers.L2(0.1),
        bias_regularizer="l1",
        kernel_constraint="max_norm",
        dropout=0.25,
        seed=9,
        name="some_cell",
    )
    config = cell.get_config()
    copy = type(cell).from_config(config)
    assert copy.get_config() == config
    assert config["name"] == "some_cell"
    for parameter in inspect.signature(CELLS[name]).parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            assert parameter.name in config
    loaded = saved_and_loaded(cell)
    assert loaded.get_config() == config


def test_duspar_is_two_spars_and_two_biases():
    cell = built_cell("duspar")
    assert isinstance(cell.feedforward, keras_duspar.SpaRCell)
    assert isinstance(cell.feedback, keras_duspar.SpaRCell)
    assert cell.count_params() == 4 * FEATURES * UNITS + 2 * (FEATURES + UNITS)
    assert built_cell("spar").count_params() == 2 * FEATURES * UNITS + UNITS


def test_literal_numbers():
    """One step by hand, from constant weights."""
    cell = keras_duspar.DuSpaRCell(
        1,
        kernel_initializer="ones",
        bias_initializer="zeros",
        gate_bias_initializer="zeros",
    )
    x = np.array([[2.0, -1.0]], "float32")
    states = [np.array([[0.5]], "float32"), np.array([[1, 1]], "float32")]
    output, (f, g) = cell(ops.convert_to_tensor(x), states)
    # e = (1, -2), so both products are 1: z = 0.731059, c = 0.761594
    assert_close(output, np.array([[0.691238]]))
    assert_close(f, np.array([[0.691238]]))
    # y = 0.691238: u = 0.666249, c = 0.598781
    assert_close(g, np.array([[0.732690, 0.732690]]))
