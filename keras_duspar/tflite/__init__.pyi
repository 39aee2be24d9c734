"""Written by `python -m tests.stubs`: do not edit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from keras_duspar.native.sparse_ops import SparseOp as SparseOp
from keras_duspar.native.sparse_ops import register_sparse_op as register_sparse_op

class Inspection:
    path: str
    size: int
    signature: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    states: dict[str, Any]
    operators: dict[str, Any]
    sparse: list[Any]
    description: dict[str, Any] | None
    def __init__(self, path: str, size: int, signature: str, inputs: dict[str, Any], outputs: dict[str, Any], states: dict[str, Any], operators: dict[str, Any], sparse: Sequence[Any], description: dict[str, Any] | None) -> None: ...

class Measurement:
    path: str
    runner: Runner
    times: Any
    frames: float
    seconds: float | None
    num_threads: int
    def __init__(self, path: str, runner: Runner, times: Any, frames: float, seconds: float | None, num_threads: int) -> None: ...
    @property
    def median(self) -> Any: ...
    @property
    def p99(self) -> Any: ...
    @property
    def real_time_factor(self) -> Any: ...
    @property
    def occupancy(self) -> Any: ...
    def to_dict(self) -> Any: ...

class Runner:
    task: str | None
    labels: list[str] | None
    sample_rate: int | None
    hop: int | None
    streaming: bool
    samples: int | None
    delay: int
    ops: str
    weights: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    states: dict[str, Any]
    description: dict[str, Any]
    def __init__(self, path: str | PathLike[str], delegate: bool = True, num_threads: int = 1) -> None: ...
    def __call__(self, inputs: Any) -> Any: ...
    def step(self, chunk: Any) -> Any: ...
    def reset(self) -> Any: ...
    def stream(self, blocks: Any) -> Iterator[Any]: ...
    def occupancy(self) -> dict[str, Any]: ...
    def profile(self, steps_per_second: float | None = None) -> Any: ...
    def reset_counters(self) -> Any: ...

def convert(model: Any, path: str | PathLike[str], streaming: bool = False, ops: str = 'sparse', weights: str = 'float32', frames: int = 1, labels: Sequence[str] | None = None, task: str | None = None, output_names: Sequence[str] | None = None, count: bool = False, representative: Any = None, report: Callable[..., Any] | None = ...) -> Path: ...
def delegate_path() -> str: ...
def inspect(path: str | PathLike[str]) -> Inspection: ...
def load(path: str | PathLike[str], delegate: bool = True, num_threads: int = 1, streaming: bool = False) -> Runner: ...
def measure(paths: Any, audio: Any = None, seconds: float = 5.0, num_threads: int = 1) -> list[Any]: ...
