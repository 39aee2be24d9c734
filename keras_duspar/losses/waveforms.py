"""What the losses on waveforms share."""

import inspect

import keras
import numpy as np
from keras import ops

from keras_duspar.audio.framing import cut
from keras_duspar.utils import checks
from keras_duspar.utils import docstrings
from keras_duspar.utils.audio_files import SAMPLE_RATE


class WaveformLoss(keras.losses.Loss):
    """Base class of the losses on waveforms.

    A subclass writes `compare(y_true, y_pred)`, which returns one value per
    example, and says in `shortest` how many samples it needs.

    Args:
        reduction: String, as in `keras.losses.Loss`. Default:
            `"sum_over_batch_size"`.
        name: String, the loss's name. Default: its class's name in lower case.
        dtype: As in `keras.losses.Loss`. Default: `None`, float32.

    Call arguments:
        y_true: Clean 16 kHz audio, with shape `(batch, samples)`, of at least
            `shortest` samples.
        y_pred: Estimated audio of the same shape.

    Returns:
        One value per example, reduced as `reduction` says.
    """

    shortest = 1

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        doc = docstrings.compose(
            cls.__doc__,
            [WaveformLoss.__doc__],
            list(inspect.signature(cls).parameters),
        )
        cls.__doc__ = doc.replace("`shortest`", str(cls.shortest))

    def call(self, y_true, y_pred):
        named = {"y_true": tuple(y_true.shape), "y_pred": tuple(y_pred.shape)}
        enough = f"have at least {self.shortest} samples"
        for name, shape in named.items():
            checks.axes(name, shape, "(batch, samples)", self)
            if shape[1] is not None and shape[1] < self.shortest:
                raise checks.bad_shape(name, enough, shape, self)
        lengths = {shape[1] for shape in named.values()} - {None}
        if len(lengths) > 1:
            both, same = "y_true` and `y_pred", "have equally many samples"
            raise checks.bad_shape(both, same, named.values(), self)
        return self.compare(y_true, y_pred)


def windowed_frames(audio, window, hop_length):
    """Frames of audio under a window.

    Args:
        audio: A 2D tensor, with shape `(batch, samples)`.
        window: Array of shape `(frame_length,)`.
        hop_length: Positive integer, samples from one frame to the next;
            must divide `frame_length`.

    Returns:
        A 3D tensor, with shape `(batch, frames, frame_length)`.
    """
    frames = cut(audio, len(window), hop_length)
    return frames * ops.convert_to_tensor(window, dtype=audio.dtype)


def power_spectra(frames, fft_length):
    """Power spectra of frames, of shape `(..., fft_length // 2 + 1)`."""
    real, imag = ops.rfft(frames, fft_length=fft_length)
    return ops.square(real) + ops.square(imag)


def band_matrix(edges_low, edges_high, fft_length, sample_rate=SAMPLE_RATE):
    """Sums the bins of a power spectrum into rectangular bands.

    A bin is taken as the interval of one bin's width around its frequency,
    and counts for a band as far as it lies in it. No band is empty, however
    narrow it is.

    Returns:
        An array of shape `(fft_length // 2 + 1, bands)`.
    """
    width = sample_rate / fft_length
    center = np.arange(fft_length // 2 + 1)[:, np.newaxis] * width
    low = np.maximum(center - width / 2, edges_low)
    high = np.minimum(center + width / 2, edges_high)
    return np.maximum(high - low, 0) / width
