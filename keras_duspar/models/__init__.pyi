"""Written by `python -m tests.stubs`: do not edit."""

from typing import Any

def group_samples(model: Any) -> int: ...
def intent_recognizer(
    recurrent: Any = "duspar",
    units: int = 128,
    num_intents: int = 31,
    num_layers: int = 2,
    pool_size: int = 4,
    options: dict[str, Any] | None = None,
    samples: int | None = None,
    name: str = "intent_recognizer",
) -> Any: ...
def keyword_spotter(
    recurrent: Any = "duspar",
    units: int = 128,
    num_classes: int = 35,
    num_layers: int = 2,
    options: dict[str, Any] | None = None,
    samples: int | None = None,
    name: str = "keyword_spotter",
) -> Any: ...
def speech_enhancer(
    recurrent: Any = "duspar",
    units: int = 116,
    num_layers: int = 4,
    frame_length: int = 32,
    hop_length: int = 16,
    mask_activation: Any = "sigmoid",
    mask_floor: float = 0.0,
    options: dict[str, Any] | None = None,
    samples: int | None = None,
    name: str = "speech_enhancer",
) -> Any: ...
