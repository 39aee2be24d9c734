"""Short-time objective intelligibility as a loss."""

import keras
import numpy as np
from keras import ops

from keras_duspar.losses.waveforms import WaveformLoss
from keras_duspar.losses.waveforms import band_matrix
from keras_duspar.losses.waveforms import power_spectra
from keras_duspar.losses.waveforms import windowed_frames

# The definition is for 10 kHz: frames of 256 samples, hops of 128. These are
# the same durations, 25.6 and 12.8 ms, in samples at 16 kHz.
FRAME_LENGTH = 410
HOP_LENGTH = 205
FFT_LENGTH = 1024
BANDS = 15
LOWEST_CENTER_HZ = 150.0
SEGMENT_FRAMES = 30
DYNAMIC_RANGE_DB = 40.0
LOWEST_SDR_DB = -15.0


def third_octave_bands():
    """Array that sums a power spectrum into one-third octave bands."""
    center = LOWEST_CENTER_HZ * 2 ** (np.arange(BANDS) / 3)
    return band_matrix(
        center * 2 ** (-1 / 6), center * 2 ** (1 / 6), FFT_LENGTH
    )


@keras.saving.register_keras_serializable(package="keras_duspar")
class STOI(WaveformLoss):
    """One minus the short-time objective intelligibility (STOI).

    Follows the definition: frames in which the clean signal is more than 40
    dB below its loudest frame are removed; the rest is analyzed in 15
    one-third octave bands from 150 Hz; in every band and every segment of 30
    frames the estimate is scaled to the clean signal's energy, clipped at a
    signal-to-distortion ratio of -15 dB and correlated with the clean signal;
    the correlations are averaged. Three things differ:

    * The bands are computed at 16 kHz, from frames of the same duration,
      rather than after resampling to 10 kHz.
    * Silent frames are removed from the spectra, not from the audio, so that
      all shapes are fixed. Which frames are silent depends on `y_true` only,
      so that the loss is differentiable in `y_pred`. Zeros that pad `y_true`
      are silent: they do not count.
    * An example with fewer than 30 frames that are not silent is one shorter
      segment; the definition has no value for it.

    Over 160 real mixtures the correlation of the loss with `pystoi` is -0.9993;
    `studies/perceptual_losses.py` measures it, see `docs/losses.md`.

    Reference:
        Taal et al., 2011, "An algorithm for intelligibility prediction of
        time-frequency weighted noisy speech",
        https://doi.org/10.1109/TASL.2011.2114881

    Example:

    >>> clean = np.random.default_rng(0).normal(size=(1, 16000))
    >>> loss = keras_duspar.losses.STOI()
    >>> round(abs(float(loss(clean, 0.5 * clean))), 3)
    0.0
    """

    shortest = FRAME_LENGTH

    def __init__(
        self, reduction="sum_over_batch_size", name="stoi", dtype=None
    ):
        super().__init__(reduction=reduction, name=name, dtype=dtype)
        # Without the zeros that a Hann window has at its ends.
        self.window = np.hanning(FRAME_LENGTH + 2)[1:-1]
        self.bands = third_octave_bands()

    def compare(self, y_true, y_pred):
        clean = windowed_frames(y_true, self.window, HOP_LENGTH)
        estimate = windowed_frames(y_pred, self.window, HOP_LENGTH)
        order, count = _active_first(_active_frames(clean))
        clean = ops.take_along_axis(self._envelopes(clean), order, axis=2)
        estimate = ops.take_along_axis(self._envelopes(estimate), order, axis=2)
        weights = _segments(ops.cast(_present(order, count), clean.dtype))
        clean = _segments(clean) * weights
        estimate = _segments(estimate) * weights

        # All below: (batch, bands, frames, segments).
        gain = _norm(clean) / _norm(estimate)
        clipped = ops.minimum(
            gain * estimate, clean * (1 + 10 ** (-LOWEST_SDR_DB / 20))
        )
        clean = _center(clean, weights)
        clipped = _center(clipped, weights)
        correlation = (
            ops.sum(clean * clipped, axis=2)
            / (_norm(clean) * _norm(clipped))[:, :, 0]
        )
        # A segment whose last frame is not an active one does not count,
        # except the first segment, so that there is always one.
        last = weights[:, :, -1]
        whole = ops.concatenate(
            [ops.ones_like(last[..., :1]), last[..., 1:]], axis=-1
        )
        total = ops.sum(correlation * whole, axis=(1, 2))
        return 1 - total / (BANDS * ops.sum(whole, axis=(1, 2)))

    def _envelopes(self, frames):
        """Amplitudes of the bands, as `(batch, bands, frames)`."""
        power = power_spectra(frames, FFT_LENGTH)
        bands = ops.convert_to_tensor(self.bands, dtype=frames.dtype)
        # The root of zero has no gradient.
        amplitude = ops.sqrt(ops.matmul(power, bands) + 1e-8)
        return ops.transpose(amplitude, (0, 2, 1))


def _active_frames(frames):
    """Which frames are not silent, as `(batch, frames)`."""
    energy = ops.sum(ops.square(frames), axis=-1)
    loudest = ops.max(energy, axis=-1, keepdims=True)
    return energy > loudest * 10 ** (-DYNAMIC_RANGE_DB / 10)


def _active_first(active):
    """Order of the frames that puts the active ones first, and their count."""
    frames = ops.shape(active)[1]
    index = ops.broadcast_to(
        ops.arange(frames, dtype="int32"), ops.shape(active)
    )
    order = ops.argsort(ops.where(active, index, index + frames), axis=-1)
    count = ops.sum(ops.cast(active, "int32"), axis=-1)
    return ops.cast(order, "int32")[:, np.newaxis], count


def _present(order, count):
    """Which of the ordered frames are active, with the shape of `order`."""
    position = ops.arange(ops.shape(order)[-1], dtype="int32")
    return position < count[:, np.newaxis, np.newaxis]


def _segments(bands):
    """Cuts the last axis into overlapping segments, at least one.

    Returns:
        A 4D tensor, with shape `(batch, bands, SEGMENT_FRAMES, segments)`:
        of neighboring segments, neighbors in memory are slices.
    """
    frames = bands.shape[-1]
    if frames is None:
        frames = ops.shape(bands)[-1]
        missing = ops.maximum(SEGMENT_FRAMES - frames, 0)
    else:
        missing = max(SEGMENT_FRAMES - frames, 0)
    bands = ops.pad(bands, [[0, 0], [0, 0], [0, missing]])
    count = frames + missing - SEGMENT_FRAMES + 1
    return ops.stack(
        [bands[:, :, i : i + count] for i in range(SEGMENT_FRAMES)], axis=2
    )


def _norm(segments):
    """Euclidean norm of a segment's frames, whose axis is kept."""
    total = ops.sum(ops.square(segments), axis=2, keepdims=True)
    return ops.sqrt(total + 1e-8)


def _center(segments, weights):
    """Subtracts the mean of the frames with weight one."""
    count = ops.sum(weights, axis=2, keepdims=True)
    count = ops.where(count > 0, count, 1.0)
    mean = ops.sum(segments * weights, axis=2, keepdims=True) / count
    return (segments - mean) * weights
