"""Quantization: models that are trained for, or rounded to, small numbers."""

from keras_duspar.utils import lazy

lazy.attach(
    __name__,
    {
        ".calibration": ["calibrate"],
        ".dense": ["QuantizedDense"],
        ".model": ["dequantize", "freeze", "quantize"],
        ".report": [
            "Comparison",
            "Summary",
            "TensorReport",
            "compare",
            "summary",
        ],
        ".tfmot": ["load_tfmot"],
        "..rounding.scheme": ["QuantScheme"],
    },
)
