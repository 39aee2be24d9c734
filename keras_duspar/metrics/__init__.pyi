"""Written by `python -m tests.stubs`: do not edit."""

from typing import Any

def evaluate_enhancement(
    pairs: Any,
    sample_rate: Any = 16000,
    workers: int | None = None,
    verbose: int = 0,
) -> dict[str, Any]: ...
def pesq_wb(
    reference: Any, estimate: Any, sample_rate: Any = 16000
) -> float: ...
def si_sdr(reference: Any, estimate: Any) -> float: ...
def stoi(reference: Any, estimate: Any, sample_rate: int = 16000) -> float: ...
