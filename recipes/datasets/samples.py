"""Samples in memory; imports little, so that synthesis starts quickly."""

import numpy as np
import soxr

from datasets.base import SAMPLE_RATE


def resample(audio, rate, sample_rate=SAMPLE_RATE):
    """Converts audio from `rate` to `sample_rate`, band-limited."""
    audio = np.ascontiguousarray(audio, "float32")
    if rate == sample_rate:
        return audio
    return soxr.resample(audio, rate, sample_rate, quality="HQ")


def to_int16(audio):
    """Rounds float audio to 16 bits; what is over full scale is clipped."""
    return np.clip(np.rint(audio * 32768), -32768, 32767).astype("int16")
