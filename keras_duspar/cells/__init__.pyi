"""Written by `python -m tests.stubs`: do not edit."""

from typing import Any

import keras

class Cost:
    operands: tuple[Any, ...]
    biases: int
    elementwise: int
    def __init__(
        self,
        operands: tuple[Any, ...] = ...,
        biases: int = 0,
        elementwise: int = 0,
    ) -> None: ...
    @property
    def dense_macs(self) -> Any: ...

class Operand:
    name: str
    size: int
    fan: int
    sparse: bool
    def __init__(
        self, name: str, size: int, fan: int, sparse: bool = False
    ) -> None: ...

class RecurrentCell(keras.layers.SimpleRNNCell):
    def __init__(
        self,
        units: int,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        *,
        quantization: Any = None,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
    ) -> None: ...
    def add_kernel(
        self,
        name: str,
        shape: tuple[Any, ...],
        family: str = "kernel",
        initializer: str | None = None,
    ) -> Any: ...
    def add_bias(
        self, name: str, shape: Any, initializer: Any = None
    ) -> Any: ...
    def add_operand(self, name: str, size: int, signed: bool = True) -> Any: ...
    def rounded(self, name: str, operand: Any) -> Any: ...
    def product(self, name: str, operand: Any, kernel: Any) -> Any: ...
    def step(self, inputs: Any, states: Any, training: Any = False) -> Any: ...
    def advance(
        self, inputs: Any, states: Any, training: Any = False
    ) -> Any: ...
    def drop_inputs(self, inputs: Any, training: Any) -> Any: ...
    def drop_recurrent(self, operand: Any, training: Any) -> Any: ...
    def state_width(self, name: str) -> Any: ...
    @property
    def state_size(self) -> Any: ...
    def check_features(self, argument: Any, inputs: Any) -> Any: ...
    def check_states(self, argument: Any, states: Any) -> Any: ...
    def cost(self) -> Any: ...

class DuSpaRCell(RecurrentCell):
    def __init__(
        self,
        units: int,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        gate_bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        *,
        quantization: Any = None,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
    ) -> None: ...

class LinearCell(RecurrentCell):
    def __init__(
        self,
        units: int,
        kernel_initializer: Any = "glorot_uniform",
        gate_bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        seed: int | None = None,
        *,
        quantization: Any = None,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
    ) -> None: ...
    def operand(self, inputs: Any, training: Any = False) -> Any: ...
    def candidate(self, operand: Any) -> Any: ...
    def coefficients(self, operand: Any) -> Any: ...
    def update(self, operand: Any, state: Any) -> Any: ...

class DeltaGRUCell(RecurrentCell):
    def __init__(
        self,
        units: int,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        *,
        quantization: Any = None,
        theta: float = 0.04,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
    ) -> None: ...

class DynamicGRUCell(RecurrentCell):
    def __init__(
        self,
        units: int,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        *,
        quantization: Any = None,
        update_ratio: float = 0.5,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
    ) -> None: ...

class IRNNCell(RecurrentCell):
    def __init__(
        self,
        units: int,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "identity",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        *,
        quantization: Any = None,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
    ) -> None: ...

class LiGRUCell(RecurrentCell):
    def __init__(
        self,
        units: int,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        *,
        quantization: Any = None,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
    ) -> None: ...

class MinGRUCell(LinearCell):
    def __init__(
        self,
        units: int,
        kernel_initializer: Any = "glorot_uniform",
        gate_bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        seed: int | None = None,
        *,
        quantization: Any = None,
        bias_initializer: Any = "zeros",
        use_candidate_bias: bool = True,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
    ) -> None: ...

class SpaRCell(LinearCell):
    def __init__(
        self,
        units: int,
        kernel_initializer: Any = "glorot_uniform",
        gate_bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        seed: int | None = None,
        *,
        quantization: Any = None,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
    ) -> None: ...
