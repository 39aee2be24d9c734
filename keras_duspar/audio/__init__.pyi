"""Written by `python -m tests.stubs`: do not edit."""

from typing import Any

import keras

class Frames(keras.layers.Layer):
    def __init__(
        self,
        frame_length: int,
        hop_length: int,
        padding: str = "valid",
        sample_rate: int | None = None,
        *,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
    ) -> None: ...
    @property
    def steps_per_second(self) -> Any: ...
    def pad(self, audio: Any, silence: Any = 0) -> Any: ...
    def cut(self, audio: Any) -> Any: ...

class LogMel(keras.layers.Layer):
    def __init__(
        self,
        bands: int = 64,
        sample_rate: int = 16000,
        frame_length: int = 512,
        hop_length: int = 256,
        low_hz: float = 50.0,
        high_hz: float = 8000.0,
        offset: float = 1e-06,
        padding: str = "valid",
        quantization: Any = None,
        *,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
    ) -> None: ...
    @property
    def steps_per_second(self) -> Any: ...
    def features(self, audio: Any) -> Any: ...
    def log_power(self, frames: Any) -> Any: ...
    def standardize(self, log_power: Any) -> Any: ...
    def adapt(self, data: Any) -> Any: ...

class OverlapAdd(keras.layers.Layer):
    def __init__(
        self,
        hop_length: int,
        *,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
    ) -> None: ...
    def add(self, frames: Any) -> Any: ...

class SpecAugment(keras.layers.Layer):
    def __init__(
        self,
        max_bands: int = 8,
        max_frames: int = 8,
        band_masks: int = 1,
        frame_masks: int = 1,
        seed: int | None = None,
        *,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
    ) -> None: ...

class TemporalPooling(keras.layers.Layer):
    def __init__(
        self,
        pool_size: int = 4,
        *,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
    ) -> None: ...
    @property
    def strides(self) -> Any: ...
    def average(self, inputs: Any) -> Any: ...

def mel_filters(
    sample_rate: int, fft_length: int, bands: int, low_hz: float, high_hz: float
) -> Any: ...
