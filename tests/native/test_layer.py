"""Layers of the native library against the NumPy reference."""

import concurrent.futures

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from keras_duspar import native
from tests import reference
from tests.native import common

pytestmark = pytest.mark.any_backend

WIDTHS = st.sampled_from([1, 2, 3, 7, 8, 16, 31, 37, 64, 116, 128])
KINDS = st.sampled_from(["duspar", "spar"])
WEIGHT_TYPES = st.sampled_from(["float32", "bfloat16", "int8"])


def kernels():
    """Kernels to test, by name. Each must compute the same."""
    return st.sampled_from(native.kernels())


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    kind=KINDS,
    weight_type=WEIGHT_TYPES,
    kernel=kernels(),
    features=WIDTHS,
    units=WIDTHS,
    batch=st.integers(1, 3),
    steps=st.integers(1, 8),
    mean=st.floats(-3, 3),
    seed=st.integers(0, 1000),
)
def test_agrees_with_reference(
    kind, weight_type, kernel, features, units, batch, steps, mean, seed
):
    """Any sizes, and inputs from all zero to none zero."""
    rng = np.random.default_rng(seed)
    stored, meant = common.make_weights(
        kind, features, units, weight_type, seed
    )
    x = rng.normal(mean, 1, (batch, steps, features)).astype("float32")
    states = common.random_states(kind, rng, batch, features, units)
    layer = native.Layer(kind, stored, weight_type, kernel)
    y, after, counts = layer(x, states)
    expected, expected_states, operands = reference.run(kind, meant, x, states)
    np.testing.assert_allclose(y, expected, atol=1e-4)
    for a, b in zip(after, expected_states):
        np.testing.assert_allclose(a, b, atol=1e-4)
    found = list(counts.nonzeros)[: 2 if kind == "duspar" else 1]
    assert found == common.nonzeros(operands)
    assert counts.steps == batch * steps
    assert counts.invocations == 1


@pytest.mark.parametrize("kind", ["duspar", "spar"])
@pytest.mark.parametrize("sign, share", [(-1, 0), (1, 1)])
def test_occupancy_of_none_and_all(kind, sign, share):
    stored, _ = common.make_weights(kind, 13, 6)
    x = np.full((2, 5, 13), 50 * sign)
    _, _, counts = native.Layer(kind, stored)(x)
    assert counts.nonzeros[0] == share * x.size


@pytest.mark.parametrize("kind", ["duspar", "spar"])
@pytest.mark.parametrize("weight_type", ["float32", "bfloat16", "int8"])
def test_values_that_are_no_numbers(kind, weight_type):
    """NaN and infinity go where they go in NumPy; denormals are numbers."""
    stored, meant = common.make_weights(kind, 7, 5, weight_type)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 4, 7)).astype("float32")
    x[0, 1, 3] = np.nan
    x[1, 1, 3] = np.inf
    x[2, 1, 3] = -np.inf
    x[3] = 1e-42
    layer = native.Layer(kind, stored, weight_type)
    y, states, counts = layer(x)
    with np.errstate(invalid="ignore"):
        expected, expected_states, operands = reference.run(kind, meant, x)
    np.testing.assert_allclose(y, expected, atol=1e-4)
    for a, b in zip(states, expected_states):
        np.testing.assert_allclose(a, b, atol=1e-4)
    assert np.isnan(y[0, 1]).all() and np.isfinite(y[2]).all()
    found = list(counts.nonzeros)[: 2 if kind == "duspar" else 1]
    assert found == common.nonzeros(operands)


@pytest.mark.parametrize("kind", ["duspar", "spar"])
def test_no_steps_keeps_the_states(kind, rng):
    stored, _ = common.make_weights(kind, 4, 3)
    states = common.random_states(kind, rng, 2, 4, 3)
    y, after, counts = native.Layer(kind, stored)(np.zeros((2, 0, 4)), states)
    assert y.shape == (2, 0, 3) and counts.steps == 0
    for a, b in zip(after, states):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", ["duspar", "spar"])
def test_stream_is_batch(kind, rng):
    """Step by step with states handed on, to the last bit."""
    stored, _ = common.make_weights(kind, 9, 11)
    layer = native.Layer(kind, stored)
    x = rng.normal(size=(2, 20, 9)).astype("float32")
    whole, final, _ = layer(x)
    states = None
    for t in range(20):
        y, states, _ = layer(x[:, t : t + 1], states)
        np.testing.assert_array_equal(y[:, 0], whole[:, t])
    for a, b in zip(states, final):
        np.testing.assert_array_equal(a, b)


def test_one_layer_in_many_threads(rng):
    stored, _ = common.make_weights("duspar", 32, 32)
    layer = native.Layer("duspar", stored)
    inputs = rng.normal(size=(16, 1, 50, 32)).astype("float32")
    alone = [layer(x)[0] for x in inputs]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda x: layer(x)[0], inputs))
    for a, b in zip(alone, together):
        np.testing.assert_array_equal(a, b)


def test_bad_arguments():
    stored, _ = common.make_weights("duspar", 4, 3)
    with pytest.raises(ValueError, match="`kind` must be one of"):
        native.Layer("gru", stored)
    with pytest.raises(ValueError, match="`weight_type` must be one of"):
        native.Layer("duspar", stored, "float16")
    with pytest.raises(ValueError, match="`kernel` must be .*'fast'"):
        native.Layer("duspar", stored, kernel="fast")
    wrong = {**stored, "feedback/gate_bias": np.zeros(3)}
    with pytest.raises(ValueError, match="feedback/gate_bias.*of shape"):
        native.Layer("duspar", wrong)
    fewer = {k: v for k, v in stored.items() if k != "feedback_bias"}
    with pytest.raises(ValueError, match="a dictionary with 'feedback_bias'"):
        native.Layer("duspar", fewer)
    with pytest.raises(ValueError, match="gate_kernel.*must be a matrix"):
        native.Layer("spar", stored)
    with pytest.raises(ValueError, match="gate_kernel.*of dtype int8"):
        native.Layer("duspar", stored, "int8")
    layer = native.Layer("duspar", stored)
    with pytest.raises(ValueError, match="`x` must be of shape"):
        layer(np.zeros((1, 2, 5)))
    with pytest.raises(ValueError, match="`x` must be of shape"):
        layer(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="`states` must be a list of 2"):
        layer(np.zeros((1, 2, 4)), [np.zeros((1, 3))])


def test_library_checks_for_itself():
    """Calls from C that are wrong get a status and a text."""
    library = native.load()
    interface = native.interface
    assert not library.duspar_layer_create(None, None)
    assert b"`parameters`" in library.duspar_last_error()
    for change, text in (
        ({"kind": 7}, b"`kind`"),
        ({"weight_type": -1}, b"`weight_type`"),
        ({"features": 0}, b"`features`"),
        ({"units": -5}, b"`units`"),
        ({}, b"`feedforward`"),
    ):
        fields = {"kind": 1, "weight_type": 0, "features": 2, "units": 2}
        parameters = interface.Parameters(**{**fields, **change})
        assert not library.duspar_layer_create(parameters, None)
        assert text in library.duspar_last_error()
    status = library.duspar_layer_run(None, 1, 1, *[None] * 6, None)
    assert status == 1 and b"`layer`" in library.duspar_last_error()
