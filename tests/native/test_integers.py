"""Operands of 7 and 8 bits, against the same arithmetic in NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from keras_duspar import native
from tests.native import common
from tests.native import models

pytestmark = pytest.mark.any_backend

OPERANDS = ["uint7", "uint8"]
KINDS = ["duspar", "spar"]


def make_weights(kind, features, units, seed=0):
    """Weights of int8, and scales by which some operands are cut off."""
    stored, _ = common.make_weights(kind, features, units, "int8", seed)
    rng = np.random.default_rng(seed)
    for prefix in ("feedforward/", "feedback/") if kind == "duspar" else ("",):
        scale = np.float32(rng.uniform(0.005, 0.02))
        stored[f"{prefix}operand_scale"] = scale
    return stored


def round_operand(a, scale, operands):
    """The integers of an operand; `a` and `scale` are float32."""
    most = {"uint7": 127, "uint8": 255}[operands]
    inverse = np.float32(1) / scale
    with np.errstate(over="ignore"):
        rounded = np.rint(a * inverse)
    return np.where(a > 0, np.minimum(rounded, most), 0).astype("int64")


def step(w, prefix, a, state, operands):
    """The next state and the count, the sums in integers."""
    scale = w[f"{prefix}operand_scale"]
    q = round_operand(a, scale, operands)
    sums = []
    for part in ("gate", "candidate"):
        total = q @ w[f"{prefix}{part}_kernel"].astype("int64")
        factor = scale * w[f"{prefix}{part}_scale"]
        assert factor.dtype == "float32"
        sums.append(total.astype("float32") * factor)
    z = 1 / (1 + np.exp(-np.float64(sums[0] + w[f"{prefix}gate_bias"])))
    c = np.tanh(np.float64(sums[1]))
    return (1 - z) * state + z * c, np.count_nonzero(q)


def check_steps(kind, w, layer, x, operands):
    """Each step from the layer's own states, so that it rounds the same."""
    states = None
    for t in range(x.shape[1]):
        now = x[:, t]
        before = states or [
            np.zeros((len(x), n), "float32")
            for n in [layer.units, layer.features][: 1 + (kind == "duspar")]
        ]
        y, states, counts = layer(x[:, t : t + 1], before)
        if kind == "spar":
            f, count = step(w, "", now, before[0], operands)
            np.testing.assert_allclose(states[0], f, rtol=1e-6, atol=4e-7)
            assert counts.nonzeros[0] == count
            continue
        e = now - (before[1] + w["feedback_bias"])
        f, count_e = step(w, "feedforward/", e, before[0], operands)
        np.testing.assert_allclose(states[0], f, rtol=1e-6, atol=4e-7)
        np.testing.assert_array_equal(
            y[:, 0], states[0] + w["feedforward_bias"]
        )
        g, count_y = step(w, "feedback/", y[:, 0], before[1], operands)
        np.testing.assert_allclose(states[1], g, rtol=1e-6, atol=4e-7)
        assert list(counts.nonzeros) == [count_e, count_y]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    kind=st.sampled_from(KINDS),
    operands=st.sampled_from(OPERANDS),
    kernel=st.sampled_from(native.kernels()),
    features=st.sampled_from([1, 2, 3, 7, 16, 31, 64, 116]),
    units=st.sampled_from([1, 3, 8, 17, 64, 116]),
    mean=st.floats(-3, 3),
    seed=st.integers(0, 1000),
)
def test_agrees_with_numpy(kind, operands, kernel, features, units, mean, seed):
    rng = np.random.default_rng(seed)
    w = make_weights(kind, features, units, seed)
    x = rng.normal(mean, 1, (2, 4, features)).astype("float32")
    layer = native.Layer(kind, w, "int8", kernel, operands)
    check_steps(kind, w, layer, x, operands)


@pytest.mark.parametrize("operands", OPERANDS)
@pytest.mark.parametrize("part", ["gate", "candidate"])
@pytest.mark.parametrize("kernel", native.kernels())
def test_sums_to_the_last_bit(kernel, part, operands, rng):
    """With scales so small that tanh is the identity, sums can be read."""
    features, units = 1000, 37
    kernels = rng.integers(-128, 128, (2, features, units)).astype("int8")
    w = {
        "gate_kernel": kernels[0],
        "candidate_kernel": kernels[1],
        "gate_scale": np.full(units, 2.0**-50),
        "candidate_scale": np.full(units, 2.0**-50),
        "gate_bias": np.full(units, 200.0),  # the gate is open
        "operand_scale": np.float32(2.0**-7),
    }
    if part == "gate":  # now its weights are the candidate's
        w["gate_kernel"], w["candidate_kernel"] = kernels[1], kernels[0]
    x = rng.normal(0.3, 1, (3, 1, features)).astype("float32")
    x[0] = 1e9  # all operands at their largest
    x[1, 0, :200] = (np.arange(200) + 0.5) * 2.0**-7  # ties, to even
    y, _, counts = native.Layer("spar", w, "int8", kernel, operands)(x)
    q = round_operand(x[:, 0], w["operand_scale"], operands)
    expected = q @ w["candidate_kernel"].astype("int64")
    assert np.abs(expected).max() < 2**22  # so the last bit of y is none
    found = np.rint(y[:, 0].astype("float64") * 2.0**57)
    np.testing.assert_array_equal(found, expected)
    assert counts.nonzeros[0] == np.count_nonzero(q)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", native.kernels())
def test_values_that_are_no_numbers(kind, kernel):
    """NaN reaches every unit, infinity is the largest integer."""
    w = make_weights(kind, 7, 5)
    x = np.full((1, 1, 7), -1, "float32")
    layer = native.Layer(kind, w, "int8", kernel, "uint8")
    x[0, 0, 3] = np.nan
    y, _, counts = layer(x)
    assert np.isnan(y).all() and counts.nonzeros[0] >= 1
    for value in (np.inf, -np.inf, 3e38, 1e-42, 1e-30):
        x[0, 0, 3] = value
        check_steps(kind, w, layer, x, "uint8")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operands", OPERANDS)
def test_through_litert(kind, operands, runner, rng):
    features, units = 7, 5
    w = make_weights(kind, features, units)
    names = ["feedforward/", "feedback/"] if kind == "duspar" else [""]
    scales = np.array([w[f"{n}operand_scale"] for n in names])
    content = models.one_layer(
        common.OPS[kind],
        {**w, "operand_scales": scales},
        features,
        units,
        weight_type="int8",
        operands=operands,
    )
    x = rng.normal(size=(2, 9, features)).astype("float32")
    states = common.random_states(kind, rng, 2, features, units)
    layer = native.Layer(kind, w, "int8", operands=operands)
    y, after, counts = layer(x, states)
    run = runner(content)
    for found, expected in zip(run(x, *states), [y, *after]):
        np.testing.assert_array_equal(found, expected)
    (operator,) = run.operators()
    nonzeros = [o.nonzeros for o in operator.operands]
    assert nonzeros == list(counts.nonzeros)[: len(nonzeros)]
    assert operator.bytes == layer.bytes >= 2 * len(names) * features * units


def test_bad_arguments():
    w = make_weights("duspar", 4, 3)
    with pytest.raises(ValueError, match="`operands` must be one of"):
        native.Layer("duspar", w, "int8", operands="int8")
    plain, _ = common.make_weights("duspar", 4, 3)
    with pytest.raises(ValueError, match="`operands` must be 'float32', as"):
        native.Layer("duspar", plain, operands="uint8")
    for scale in (None, 0, -1.0, np.nan, np.inf, [1, 2]):
        wrong = {**w, "feedback/operand_scale": scale}
        with pytest.raises(ValueError, match="feedback/operand_scale.*finite"):
            native.Layer("duspar", wrong, "int8", operands="uint8")
    with pytest.raises(ValueError, match="operand_scale.*finite.* not 0"):
        tiny = {**w, "feedback/operand_scale": 1e-60}  # 0 as a float32
        native.Layer("duspar", tiny, "int8", operands="uint8")


@pytest.mark.parametrize(
    "kind, features, units, operands, message",
    [
        ("spar", 65794, 1, "uint8", "`features` must be at most 65793 with"),
        ("spar", 132105, 1, "uint7", "`features` must be at most 132104"),
        ("duspar", 1, 65794, "uint8", "`units` must be at most 65793 with"),
        ("spar", 1, 65794, "uint8", None),
        ("spar", 65793, 1, "uint8", None),
        ("duspar", 1, 132104, "uint7", None),
    ],
)
def test_sums_cannot_overflow(kind, features, units, operands, message):
    w = make_weights(kind, features, units)
    for name, value in w.items():
        if name.endswith("kernel"):
            value[:] = -128
        if name.endswith("_scale"):
            w[name] = value * 0 + np.float32(1e-4)
    if message is None:
        layer = native.Layer(kind, w, "int8", operands=operands)
        x = np.full((1, 1, features), 1e6, "float32")
        check_steps(kind, w, layer, x, operands)
        return
    with pytest.raises(ValueError, match=message):
        native.Layer(kind, w, "int8", operands=operands)
