"""Perceptual metric for speech quality evaluation as a loss."""

import functools

import keras
import numpy as np
from keras import ops

from keras_duspar.audio.framing import hann
from keras_duspar.losses.waveforms import WaveformLoss
from keras_duspar.losses.waveforms import band_matrix
from keras_duspar.losses.waveforms import power_spectra
from keras_duspar.losses.waveforms import windowed_frames
from keras_duspar.utils import checks
from keras_duspar.utils.audio_files import SAMPLE_RATE

FRAME_LENGTH = 512
HOP_LENGTH = 256
BANDS = 49
# The band over which P.862 measures the level of speech.
LEVEL_HZ = (350.0, 3250.0)
# The largest disturbance of a frame in P.862.
LARGEST = 45.0


def to_bark(hz):
    """Critical-band rate, by Traunmueller's formula."""
    return 26.81 * hz / (1960.0 + hz) - 0.53


def to_hz(bark):
    """The inverse of `to_bark()`."""
    return 1960.0 * (bark + 0.53) / (26.28 - bark)


def hearing_threshold(hz):
    """Power at the threshold in quiet, by Terhardt's formula; 1 is 0 dB."""
    khz = np.asarray(hz) / 1000
    decibel = (
        3.64 * khz**-0.8 - 6.5 * np.exp(-0.6 * (khz - 3.3) ** 2) + 1e-3 * khz**4
    )
    return 10 ** (decibel / 10)


def loudness_exponent(bark):
    """Zwicker's exponent, which P.862 raises somewhat below 4 Bark."""
    raised = np.minimum(6 / (np.asarray(bark) + 2), 2) ** 0.15
    return 0.23 * np.where(np.asarray(bark) < 4, raised, 1)


class HearingModel:
    """The constants of the transformation to loudness, in NumPy.

    49 bands that are equally wide on the Bark scale, from 50 Hz to 8 kHz.
    As in P.862, a 1 kHz tone of 40 dB has a largest band power of 10,000 and
    a loudness of 1 sone; that fixes the two scale factors.
    """

    def __init__(self):
        self.window = hann(FRAME_LENGTH).astype("float64")
        edges = np.linspace(to_bark(50.0), to_bark(SAMPLE_RATE / 2), BANDS + 1)
        self.width = edges[1] - edges[0]
        center = (edges[:-1] + edges[1:]) / 2
        self.threshold = hearing_threshold(to_hz(center))
        self.exponent = loudness_exponent(center)
        hz = to_hz(edges)
        self.bands = band_matrix(hz[:-1], hz[1:], FRAME_LENGTH)
        self.level_band = band_matrix(*np.array([LEVEL_HZ]).T, FRAME_LENGTH)
        # The bins of a spectrum then add up to the power of the samples.
        unit = 2 / (FRAME_LENGTH * np.sum(self.window**2))
        self.bands *= unit
        self.level_band *= unit
        time = np.arange(FRAME_LENGTH) / SAMPLE_RATE
        tone = np.sqrt(2 * 1e4) * np.sin(2 * np.pi * 1000 * time)
        power = np.abs(np.fft.rfft(tone * self.window)) ** 2 @ self.bands
        self.bands *= 1e4 / power.max()
        power *= 1e4 / power.max()
        factor = (self.threshold / 0.5) ** self.exponent
        loudness = factor * (
            (0.5 + 0.5 * power / self.threshold) ** self.exponent - 1
        )
        sone = np.sum(np.maximum(loudness, 0)) * self.width
        self.loudness_factor = factor / sone


@keras.saving.register_keras_serializable(package="keras_duspar")
class PMSQE(WaveformLoss):
    """Perceptual metric for speech quality evaluation (PMSQE).

    A differentiable relative of PESQ, ITU-T P.862, computed from the power
    spectra of frames of 32 ms:

    1. Both signals are brought to the same level, measured from 350 to 3250
       Hz over the whole recording.
    2. The bins are grouped into 49 Bark bands.
    3. The clean spectrum is equalised by the ratio of the two signals' means
       in every band, within 20 dB, and the estimate by the ratio of the
       powers in every frame: constant filtering and slow changes of gain are
       hardly heard.
    4. Zwicker's law turns power into loudness.
    5. The difference of loudness, less a quarter of the smaller one, which
       masks it, is the symmetric disturbance. Times the factor
       `((estimate + 50) / (clean + 50)) ** 1.2`, at most 12 and 0 below 3, it
       is the asymmetric disturbance: what is added is worse than what is
       missing.
    6. Both are summed over the bands, the symmetric one as a Euclidean norm,
       and divided by the frame's power to 0.04. `tanh` keeps them below
       45, P.862's limit.
    7. The loss is `0.1 * symmetric + 0.0309 * asymmetric`, P.862's
       weights, averaged over the frames.

    It is written from the definitions, not from another implementation: band
    limits follow Traunmueller's formula, thresholds in quiet Terhardt's, and
    the scale factors P.862's calibration by a tone. P.862's time alignment,
    its smoothing of the gain and its norms over time are left out. Frames in
    which `y_true` is exactly zero, as padding is, do not count.

    Over 160 real mixtures the correlation of the loss with PESQ-WB is -0.908
    (Pearson's) and -0.911 (Spearman's), and -0.936 with P.862's score before
    its mapping to an opinion score; `studies/perceptual_losses.py` measures
    it, see `docs/losses.md`.

    Args:
        level: Float, the level of speech in dB. Default: 79, at which P.862
            is defined. Levels from 55 to 75 dB agree less with PESQ on the
            validation mixtures.

    Reference:
        Martin-Donas et al., 2018, "A deep learning loss function based on
        the perceptual evaluation of the speech quality",
        https://doi.org/10.1109/LSP.2018.2871419

    Example:

    >>> clean = np.random.default_rng(0).normal(size=(1, 16000))
    >>> loss = keras_duspar.losses.PMSQE()
    >>> round(float(loss(clean, 0.5 * clean)), 3)
    0.0
    """

    shortest = FRAME_LENGTH

    def __init__(
        self,
        level=79.0,
        reduction="sum_over_batch_size",
        name="pmsqe",
        dtype=None,
    ):
        super().__init__(reduction=reduction, name=name, dtype=dtype)
        self.level = checks.number("level", level, "[0, 120]")
        self.hearing = HearingModel()

    def compare(self, y_true, y_pred):
        constant = functools.partial(ops.convert_to_tensor, dtype=y_true.dtype)
        threshold = constant(self.hearing.threshold)
        clean, estimate = (
            power_spectra(
                windowed_frames(audio, self.hearing.window, HOP_LENGTH),
                FRAME_LENGTH,
            )
            for audio in (y_true, y_pred)
        )
        counted = ops.any(clean > 0, axis=-1, keepdims=True)
        counted = ops.cast(counted, clean.dtype)
        clean = self._bark_power(clean, counted, constant)
        estimate = self._bark_power(estimate, counted, constant)

        clean = clean * _band_gain(clean, estimate, threshold)
        audible = _audible_power(clean, threshold, 1.0)
        gain = (audible + 5e3) / (
            _audible_power(estimate, threshold, 1.0) + 5e3
        )
        estimate = estimate * ops.clip(gain, 3e-4, 5.0)

        loud_clean = self._loudness(clean, constant)
        loud_estimate = self._loudness(estimate, constant)
        masked = 0.25 * ops.minimum(loud_clean, loud_estimate)
        symmetric = ops.relu(ops.abs(loud_estimate - loud_clean) - masked)
        factor = ((estimate + 50.0) / (clean + 50.0)) ** 1.2
        factor = ops.where(factor < 3.0, 0.0, ops.clip(factor, 3.0, 12.0))
        asymmetric = symmetric * factor

        width = self.hearing.width
        # The root of zero has no gradient.
        norm = ops.sqrt(ops.sum(ops.square(symmetric), axis=-1) + 1e-8) - 1e-4
        symmetric = width * np.sqrt(BANDS) * norm
        asymmetric = width * ops.sum(asymmetric, axis=-1)
        weight = ((audible[..., 0] + 1e5) / 1e7) ** 0.04
        disturbance = 0.1 * _limit(symmetric / weight)
        disturbance = disturbance + 0.0309 * _limit(asymmetric / weight)
        return _mean_frame(disturbance[..., np.newaxis], counted)[:, 0, 0]

    def _bark_power(self, power, counted, constant):
        """Power in the bands, of a signal brought to `level`."""
        speech = ops.matmul(power, constant(self.hearing.level_band))
        level = _mean_frame(speech, counted)
        bark = ops.matmul(power, constant(self.hearing.bands))
        return bark * (10 ** (self.level / 10) / (level + 1e-10))

    def _loudness(self, power, constant):
        threshold = constant(self.hearing.threshold)
        relative = 0.5 + 0.5 * power / threshold
        growth = relative ** constant(self.hearing.exponent) - 1
        return constant(self.hearing.loudness_factor) * ops.relu(growth)

    def get_config(self):
        return {**super().get_config(), "level": self.level}


def _mean_frame(values, counted):
    """Mean over the frames that are counted, with shape `(batch, 1, n)`."""
    count = ops.sum(counted, axis=1, keepdims=True)
    count = ops.where(count > 0, count, 1.0)
    return ops.sum(values * counted, axis=1, keepdims=True) / count


def _audible_power(power, threshold, factor):
    """Power of the bands above `factor` times the threshold, summed."""
    audible = ops.where(power > factor * threshold, power, 0.0)
    return ops.sum(audible, axis=-1, keepdims=True)


def _band_gain(clean, estimate, threshold):
    """Gain that gives `clean` the mean spectrum of `estimate`."""
    loud = _audible_power(clean, threshold, 100.0) > 1e5
    loud = ops.cast(loud, clean.dtype)
    mean_clean = _mean_frame(clean, loud)
    mean_estimate = _mean_frame(estimate, loud)
    gain = (mean_estimate + 1e3) / (mean_clean + 1e3)
    return ops.clip(gain, 0.01, 100.0)


def _limit(disturbance):
    """Limited smoothly to `LARGEST`, so that there is always a gradient."""
    return LARGEST * ops.tanh(disturbance / LARGEST)
