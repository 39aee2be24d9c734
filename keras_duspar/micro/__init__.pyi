"""Written by `python -m tests.stubs`: do not edit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

def export_c(model: Any, folder: str | PathLike[str], weights: Any = 'float32', labels: Sequence[str] | None = None, representative: Any = None, name: str | None = None, window: float | None = None, detector: Any = None, report: Callable[..., Any] | None = ...) -> Path: ...
def export_web(model: Any, folder: str | PathLike[str], weights: Any = 'float32', labels: Sequence[str] | None = None, representative: Any = None, title: str | None = None, window: float = 1.0) -> Path: ...
