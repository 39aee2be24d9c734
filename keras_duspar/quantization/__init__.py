"""Quantization: models that are trained for, or rounded to, small numbers."""

from keras_duspar.utils import lazy

lazy.attach(
    __name__,
    {
        ".calibration": "calibrate",
        ".dense": "QuantizedDense",
        ".model": "dequantize freeze quantize",
        ".comparison": "Comparison Summary TensorReport compare summary",
        "..rounding.scheme": "QuantScheme",
        "..rounding.tfmot": "load_tfmot",
    },
)
