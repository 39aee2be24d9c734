"""Samples in memory; imports little, so that synthesis starts quickly."""

import numpy as np
import soxr

from keras_duspar.utils.audio_files import SAMPLE_RATE


def resample(audio, rate):
    """Converts audio from `rate` to 16 kHz, band-limited."""
    audio = np.ascontiguousarray(audio, "float32")
    if rate == SAMPLE_RATE:
        return audio
    return soxr.resample(audio, rate, SAMPLE_RATE, quality="HQ")


def to_int16(audio):
    """Rounds float audio to 16 bits; what is over full scale is clipped."""
    return np.clip(np.rint(audio * 32768), -32768, 32767).astype("int16")
