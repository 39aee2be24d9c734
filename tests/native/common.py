"""Weights for the native library, as it stores them and as they are meant."""

import numpy as np
import pytest

from keras_duspar import operators

OPS = {key: operator.name for key, operator in operators.BY_KEY.items()}
EVERY_ROUNDING = pytest.mark.parametrize(
    "weights, operands",
    [
        ("float32", None),
        ("bfloat16", None),
        ("int8", None),
        ("int8", "uint7"),
        ("int8", "uint8"),
    ],
)


def to_bfloat16(values):
    """The upper 16 bits of float32 numbers, as int16."""
    bits = np.asarray(values, "float32").view("uint32") >> 16
    return bits.astype("uint16").view("int16")


def from_bfloat16(stored):
    bits = stored.view("uint16").astype("uint32") << 16
    return bits.view("float32")


def _cell(rng, prefix, inputs, outputs, weight_type):
    stored, meant = {}, {}
    for part in ("gate", "candidate"):
        limit = 2 / np.sqrt(inputs)
        kernel = rng.uniform(-limit, limit, (inputs, outputs))
        name = f"{prefix}{part}_kernel"
        if weight_type == "int8":
            scale = (np.abs(kernel).max(axis=0) / 127).astype("float32")
            stored[name] = np.round(kernel / scale).astype("int8")
            stored[f"{prefix}{part}_scale"] = scale
            meant[name] = stored[name] * scale.astype("float64")
        elif weight_type == "bfloat16":
            stored[name] = to_bfloat16(kernel)
            meant[name] = from_bfloat16(stored[name])
        else:
            stored[name] = meant[name] = kernel.astype("float32")
    bias = rng.normal(size=outputs).astype("float32")
    stored[f"{prefix}gate_bias"] = meant[f"{prefix}gate_bias"] = bias
    return stored, meant


def make_weights(kind, features, units, weight_type="float32", seed=0):
    """Returns the weights as stored, and as `reference` takes them."""
    rng = np.random.default_rng(seed)
    if kind == "spar":
        return _cell(rng, "", features, units, weight_type)
    stored, meant = _cell(rng, "feedforward/", features, units, weight_type)
    more_stored, more_meant = _cell(
        rng, "feedback/", units, features, weight_type
    )
    stored.update(more_stored)
    meant.update(more_meant)
    for name, size in (
        ("feedforward_bias", units),
        ("feedback_bias", features),
    ):
        bias = rng.normal(scale=0.3, size=size).astype("float32")
        stored[name] = meant[name] = bias
    return stored, meant


def state_widths(operator, features, units):
    widths = (state.width for state in operator.states)
    return operators.sizes(widths, features, units)


def random_states(kind, rng, batch, features, units):
    widths = state_widths(operators.BY_KEY[kind], features, units)
    return [
        rng.uniform(-1, 1, (batch, width)).astype("float32") for width in widths
    ]


def nonzeros(operands):
    """How many entries of each operand are not zero, over all steps."""
    names = ["e", "y"] if "e" in operands[0] else ["x"]
    return [
        sum(int(np.count_nonzero(step[name])) for step in operands)
        for name in names
    ]
