"""What the losses on waveforms share."""

import numpy as np
from keras import ops

from keras_duspar.audio.framing import cut

SAMPLE_RATE = 16000


def check_waveforms(loss, y_true, y_pred, shortest=1):
    """Raises unless both are `(batch, samples)` and long enough."""
    for name, audio in (("y_true", y_true), ("y_pred", y_pred)):
        shape = tuple(audio.shape)
        if len(shape) != 2:
            raise ValueError(
                f"`{name}` of {type(loss).__name__} must be of shape "
                f"`(batch, samples)`. Received shape: {shape}."
            )
        if shape[1] is not None and shape[1] < shortest:
            raise ValueError(
                f"`{name}` of {type(loss).__name__} must have at least "
                f"{shortest} samples. Received shape: {shape}."
            )
    if None not in (y_true.shape[1], y_pred.shape[1]) and (
        y_true.shape[1] != y_pred.shape[1]
    ):
        raise ValueError(
            f"`y_true` and `y_pred` of {type(loss).__name__} must have equally "
            f"many samples. Received shapes: {tuple(y_true.shape)} and "
            f"{tuple(y_pred.shape)}."
        )


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
    centre = np.arange(fft_length // 2 + 1)[:, np.newaxis] * width
    low = np.maximum(centre - width / 2, edges_low)
    high = np.minimum(centre + width / 2, edges_high)
    return np.maximum(high - low, 0) / width
