"""Written by `python -m tests.stubs`: do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

class CTC(keras.losses.Loss):
    def __init__(self, blank: int = -1, zero_infinity: bool = False, reduction: str = 'sum_over_batch_size', name: str = 'ctc', dtype: Any = None) -> None: ...

class Enhancement(keras.losses.Loss):
    def __init__(self, mse_weight: float = 400000.0, pmsqe_weight: float = 1.0, stoi_weight: float = 3.5, si_snr_weight: float = 0.5, reduction: str = 'sum_over_batch_size', name: str = 'enhancement', dtype: Any = None) -> None: ...

class NegativeSISNR(keras.losses.Loss):
    def __init__(self, epsilon: float = 1e-08, reduction: str = 'sum_over_batch_size', name: str = 'negative_si_snr', dtype: Any = None) -> None: ...

class PMSQE(keras.losses.Loss):
    def __init__(self, level: float = 79.0, reduction: str = 'sum_over_batch_size', name: str = 'pmsqe', dtype: Any = None) -> None: ...

class STOI(keras.losses.Loss):
    def __init__(self, reduction: str = 'sum_over_batch_size', name: str = 'stoi', dtype: Any = None) -> None: ...

def ctc_decode(logits: Any, lengths: Any = None, blank: int = -1, beam_width: int | None = None) -> Any: ...
def ctc_loss(labels: Any, logits: Any, label_lengths: Any = None, logit_lengths: Any = None, blank: int = -1, zero_infinity: bool = False) -> Any: ...
def pack_ctc_targets(labels: Sequence[Any], lengths: Sequence[Any]) -> Any: ...
