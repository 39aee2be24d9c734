"""Written by `python -m tests.stubs`: do not edit."""

from collections.abc import Sequence
from typing import Any

class Signal:
    kind: str
    steps: int | None
    most: int
    delay: int
    cut: bool
    features: int
    def __init__(
        self,
        kind: str,
        steps: int | None,
        most: int,
        delay: int = 0,
        cut: bool = False,
        features: int | None = None,
    ) -> None: ...

class State:
    shape: tuple[Any, ...]
    dtype: str
    def __init__(
        self, shape: tuple[Any, ...], dtype: str = "float32"
    ) -> None: ...
    def zeros(self, batch_size: Any) -> Any: ...

class Stream:
    samples: int
    hop: int
    sample_rate: int | None
    delay: int
    states: dict[str, Any]
    signals: list[Any]
    static: bool
    def __init__(
        self, model: Any, frames: int = 1, rules: dict[str, Any] | None = None
    ) -> None: ...
    def initial_state(self, batch_size: int = 1) -> dict[str, Any]: ...
    def step(self, chunk: Any, state: dict[str, Any]) -> Any: ...
    def reset(self) -> Any: ...
    def push(self, samples: Any) -> Any: ...
    def finish(self) -> Any: ...

class StreamRule:
    def __init__(self, layer: Any, signals: Sequence[Any]) -> None: ...
    def step(
        self, states: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any: ...
    def error(self, reason: Any) -> Any: ...

class Recurrent(StreamRule):
    def __init__(self, layer: Any, signals: Sequence[Any]) -> None: ...
    def run(self, sequences: Any, values: Sequence[Any]) -> list[Any]: ...

def register_stream(layer_class: Any) -> Any: ...
