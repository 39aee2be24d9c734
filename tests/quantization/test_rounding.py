"""The numbers of a quantized model, against plain NumPy."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_duspar
from keras_duspar.rounding import arithmetic
from tests.helpers import gradients


def reference_operand(a, scale, levels):
    """As the native library has it, in float32."""
    inverse = np.float32(1) / np.float32(scale)
    q = np.rint(np.float32(a) * inverse)
    return np.where(a > 0, np.minimum(q, levels), 0).astype("int32")


def test_kernel(rng):
    kernel = rng.normal(size=(7, 5)).astype("float32")
    kernel[:, 2] = 0
    for levels in (127, 7):
        integers, scale = map(
            ops.convert_to_numpy,
            arithmetic.round_kernel(ops.array(kernel), levels),
        )
        assert np.abs(integers).max() == levels
        np.testing.assert_array_equal(integers, np.rint(integers))
        expected = np.abs(kernel).max(axis=0) / levels
        expected[2] = 1
        np.testing.assert_allclose(scale, expected, rtol=1e-6)
        error = np.abs(integers * scale - kernel)
        assert (error <= scale / 2 * (1 + 1e-5)).all()


@pytest.mark.parametrize("levels", [127, 255])
def test_operand(rng, levels):
    a = rng.normal(size=1000).astype("float32")
    scale = np.float32(2.5 / levels)
    a[:4] = [0, -1, 10, scale / 2]  # the last is halfway between 0 and 1
    found = arithmetic.round_operand(ops.array(a), scale, float(levels))
    np.testing.assert_array_equal(
        ops.convert_to_numpy(found), reference_operand(a, scale, levels)
    )
    assert ops.convert_to_numpy(found).max() == levels
    signed = arithmetic.round_operand(ops.array(a), scale, 127.0, signed=True)
    expected = np.clip(np.rint(a / scale), -127, 127)
    np.testing.assert_array_equal(ops.convert_to_numpy(signed), expected)


def test_halfway_cases_go_to_the_even_integer():
    x = ops.array([0.5, 1.5, 2.5, 3.5, 0.4999, 2.5001], "float32")
    found = arithmetic.round_operand(x, 1.0, 255.0)
    np.testing.assert_array_equal(
        ops.convert_to_numpy(found), [0, 2, 2, 4, 0, 3]
    )


def test_bfloat16(rng):
    x = rng.normal(size=500).astype("float32")
    x[:4] = [1.0, 1 + 2**-8, 1 + 3 * 2**-8, 1e-30]
    bits = x.view("uint32").astype("uint64")
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    expected = bits.astype("uint32").view("float32")

    class Rounded(keras.layers.Layer):
        def call(self, x):
            return arithmetic.round_bfloat16(x)

    # Compiled, too: XLA leaves out casts to bfloat16 and back.
    model = keras.Sequential([keras.Input(batch_shape=(500,)), Rounded()])
    for found in (
        arithmetic.round_bfloat16(ops.array(x)),
        model.predict_on_batch(x),
    ):
        np.testing.assert_array_equal(ops.convert_to_numpy(found), expected)


def test_gradients_pass_straight_through():
    values = keras.Variable([-0.3, 0.2, 0.61, 5.0])

    def loss():
        q = arithmetic.round_operand(ops.convert_to_tensor(values), 0.1, 20.0)
        return ops.sum(q * 0.1 * ops.array([1.0, 2.0, 3.0, 4.0]))

    (found,) = gradients(loss, [values])
    # Nothing where it is cut off, below and above.
    np.testing.assert_allclose(found, [0, 2, 3, 0], rtol=1e-5)


def test_sums_are_exact(rng):
    """What the native library computes, to the last bit."""
    layer = keras_duspar.SpaR(64, quantization="int8")
    layer.build((None, None, 200))
    cell = layer.cell
    a = np.maximum(rng.normal(size=(9, 200)), 0).astype("float32")
    cell.quantizer.ranges["x"].assign(2.0)
    scale = np.float32(2.0) * np.float32(1 / 255)
    q = reference_operand(a, scale, 255)
    operand = cell.rounded("x", ops.array(a))
    np.testing.assert_array_equal(ops.convert_to_numpy(operand), q)
    kernel = ops.convert_to_numpy(cell.gate_kernel)
    channel = np.abs(kernel).max(axis=0) * np.float32(1 / 127)
    integers = np.rint(kernel / channel).astype("int32")
    expected = (q @ integers).astype("float32") * (scale * channel)
    found = ops.convert_to_numpy(cell.product("x", operand, cell.gate_kernel))
    np.testing.assert_array_equal(found, expected)
