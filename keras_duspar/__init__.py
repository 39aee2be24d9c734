"""DuSpaR: recurrent layers that skip the zeros of their inputs, for Keras 3."""

from keras_duspar import startup
from keras_duspar.utils import lazy

__version__ = "0.2.0"

lazy.attach(
    __name__,
    {
        ".cells": (
            "Cost DeltaGRUCell DuSpaRCell DynamicGRUCell EGRUCell "
            "IRNNCell LiGRUCell MinGRUCell Operand RecurrentCell "
            "SpaRCell"
        ),
        ".layers": ("EGRU IRNN DeltaGRU DuSpaR DynamicGRU LiGRU MinGRU SpaR"),
        ".micro": "export_c export_web",
        ".profiling": "profile",
        ".quantization": "QuantScheme quantize",
    },
    modules=(
        "audio callbacks cells layers losses metrics micro models "
        "native profiling quantization streaming tflite"
    ),
)
startup.prepare()
