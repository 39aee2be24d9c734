"""Bad input to quantization is answered in words."""

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar import QuantScheme
from keras_duspar import quantization

pytestmark = pytest.mark.any_backend


@pytest.fixture
def model():
    return keras.Sequential(
        [
            keras.Input((None, 4)),
            keras_duspar.DuSpaR(3, return_sequences=True),
            keras_duspar.SpaR(3),
        ]
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"weights": "int9"}, "`weights` must be"),
        ({"weights": "uint8"}, "`weights` must be"),
        ({"weights": 8}, "`weights` must be"),
        ({"operands": "int8"}, "`operands` must be one of"),
        ({"operands": "uint4"}, "`operands` must be one of"),
        ({"states": "uint8"}, "`states` must be one of"),
        ({"momentum": 1.0}, "`momentum` must be"),
        ({"momentum": float("nan")}, "`momentum` must be"),
        ({"weights": "bfloat16"}, "need integer weights"),
        ({"weights": "float32"}, "need integer weights"),
    ],
)
def test_schemes_that_make_no_sense(arguments, message):
    with pytest.raises(ValueError, match=message):
        QuantScheme(**arguments)


def test_arguments_of_quantize(model):
    for scheme in ("int7", None, 8, QuantScheme("float32", "float32")):
        with pytest.raises(ValueError, match="`scheme` must be"):
            keras_duspar.quantize(model, scheme)
    with pytest.raises(ValueError, match="`skip` must be.*spar"):
        keras_duspar.quantize(model, skip=["other"])
    with pytest.raises(ValueError, match="must be a `keras.Model`"):
        keras_duspar.quantize(model.layers[0])
    unbuilt = keras.Sequential([keras_duspar.DuSpaR(3)])
    with pytest.raises(ValueError, match="must be built"):
        keras_duspar.quantize(unbuilt)
    quantized = keras_duspar.quantize(model)
    with pytest.raises(ValueError, match="quantized already"):
        keras_duspar.quantize(quantized)
    plain = keras.Sequential([keras.Input((4,)), keras.layers.ReLU()])
    with pytest.raises(ValueError, match="layers that can be quantized"):
        keras_duspar.quantize(plain)


def test_models_that_are_not_quantized(model):
    for function in (
        quantization.freeze,
        quantization.dequantize,
        quantization.summary,
        lambda m: quantization.calibrate(m, np.ones((2, 3, 4))),
        lambda m: quantization.compare(m, m, np.ones((2, 3, 4))),
    ):
        with pytest.raises(ValueError, match="must be quantized"):
            function(model)


def test_ranges(model):
    quantized = keras_duspar.quantize(model)
    with pytest.raises(ValueError, match="feedforward/x was never observed"):
        quantization.freeze(quantized)
    data = np.ones((2, 3, 4), "float32")
    data[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="`data` must be finite"):
        quantization.calibrate(quantized, data)
    with pytest.raises(ValueError, match="at least one batch"):
        quantization.calibrate(quantized, iter([]))
    quantization.calibrate(quantized, np.ones((2, 3, 4), "float32"))
    cell = quantized.layers[1].cell
    cell.quantizer.ranges["x"].assign(float("nan"))
    with pytest.raises(ValueError, match="spar.*/x is nan: there was NaN"):
        quantization.freeze(quantized)


def test_nan_in_training_is_told(model):
    quantized = keras_duspar.quantize(model)
    quantized.compile("sgd", "mse")
    x = np.ones((2, 3, 4), "float32")
    x[1, 1, 1] = np.nan
    quantized.train_on_batch(x, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="is nan"):
        quantization.freeze(quantized)
