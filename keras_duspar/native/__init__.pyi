"""Written by `python -m tests.stubs`: do not edit."""

from __future__ import annotations

from typing import Any

class Layer:
    def __init__(self, kind: str, weights: dict[str, Any], weight_type: Any = 'float32', kernel: str | None = None, operands: Any = 'float32') -> None: ...
    @property
    def bytes(self) -> Any: ...
    def __call__(self, x: Any, states: Any = None) -> tuple[Any, ...]: ...

class Operand:
    name: str
    size: Any
    fan: Any
    nonzeros: Any
    entries: Any
    def __init__(self, name: str, size: Any, fan: Any, nonzeros: Any, entries: Any) -> None: ...

class Operator:
    layer: str
    op: str
    kernel: str
    in_use: bool
    features: Any
    units: Any
    bytes: Any
    invocations: Any
    steps: Any
    operands: tuple[Any, ...]
    def __init__(self, layer: str, op: str, kernel: str, in_use: bool, features: Any, units: Any, bytes: Any, invocations: Any, steps: Any, operands: tuple[Any, ...]) -> None: ...

def kernels() -> list[str]: ...
def library_path() -> str: ...
def load() -> Any: ...
def new_handle() -> str: ...
def operators(handle: Any) -> list[Any]: ...
def reset(handle: Any) -> Any: ...
def training_memory(limit: Any = None) -> Any: ...
