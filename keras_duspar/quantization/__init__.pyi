"""Written by `python -m tests.stubs`: do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from keras_duspar.rounding.scheme import QuantScheme as QuantScheme
from keras_duspar.rounding.tfmot import load_tfmot as load_tfmot

class Comparison:
    layers: dict[str, Any]
    outputs: dict[str, Any]
    agreement: dict[str, Any]
    def __init__(self, layers: dict[str, Any], outputs: dict[str, Any], agreement: dict[str, Any]) -> None: ...

class Summary:
    tensors: list[Any]
    def __init__(self, tensors: Sequence[Any]) -> None: ...

class TensorReport:
    name: str
    kind: str
    type: str
    largest: float
    error: float
    def __init__(self, name: str, kind: str, type: str, largest: float, error: float) -> None: ...

class QuantizedDense(keras.layers.Dense):
    def __init__(self, *args: Any, quantization: Any = 'int8', activity_regularizer: Any = None, trainable: bool = True, dtype: Any = None, autocast: bool = True, name: str | None = None) -> None: ...
    @property
    def kernels(self) -> Any: ...
    def rounded_kernel(self, training: Any = False) -> Any: ...

def calibrate(model: Any, data: Any, batch_size: int = 32) -> Any: ...
def compare(model: Any, quantized: Any, data: Any, batch_size: int = 32) -> Comparison: ...
def dequantize(model: Any, rounded: bool = True) -> Any: ...
def freeze(model: Any) -> Any: ...
def quantize(model: Any, scheme: Any = 'int8', skip: Sequence[Any] = ...) -> Any: ...
def summary(model: Any) -> Summary: ...
