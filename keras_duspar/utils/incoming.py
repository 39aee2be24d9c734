"""Sound as it comes in: any number of samples, of any kind, at any rate."""

import numpy as np

from keras_duspar.utils import checks
from keras_duspar.utils.audio_files import Resampler

LOWEST_RATE, HIGHEST_RATE = 8000, 48000


class Incoming:
    """Makes chunks for a model of what a microphone gives.

    What is not a number becomes silence, and what is beyond full scale is cut
    off there, so that nothing that comes in can spoil the states of a model.

    Args:
        size: Integer, samples in a chunk.
        rate: Integer, samples per second of the chunks, or `None` if it is
            not known.
    """

    def __init__(self, size, rate):
        self._size, self._rate = size, rate
        self.reset()

    def reset(self):
        """Forgets what does not fill a chunk yet."""
        self._waiting = np.zeros(0, "float32")
        self._given, self._resampler = None, None

    def __call__(self, samples, rate=None):
        """Takes new samples.

        Args:
            samples: Array of shape `(n,)`, of int16, or of floats from -1 to
                1.
            rate: Integer, their samples per second. Default: `None`, those of
                the chunks.

        Returns:
            A list of the chunks that are full, maybe none.
        """
        samples = clean_samples(samples)
        if rate not in (None, self._rate):
            samples = self._resample(samples, rate)
        joined = np.concatenate([self._waiting, samples])
        end = len(joined) // self._size * self._size
        self._waiting = joined[end:]
        return list(joined[:end].reshape(-1, self._size))

    def _resample(self, samples, rate):
        if rate != self._given:
            rate = checks.positive_integer("rate", rate)
            if self._rate is None or not LOWEST_RATE <= rate <= HIGHEST_RATE:
                known = f"{LOWEST_RATE} to {HIGHEST_RATE} or "
                expected = f"{known if self._rate else ''}{self._rate}"
                raise checks.bad_value("rate", expected, rate)
            self._resampler = Resampler(rate, self._rate, 1)
            self._given = rate
        return self._resampler(samples[np.newaxis])[0]


def clean_samples(samples):
    """Finite floats from -1 to 1 of an array of int16 or floats."""
    samples = np.asarray(samples)
    known = samples.dtype == np.int16 or samples.dtype.kind == "f"
    if samples.ndim != 1 or not known:
        raise checks.bad_value(
            "samples", "int16 or floats of shape `(n,)`", samples
        )
    if samples.dtype == np.int16:
        return samples.astype("float32") / 32768
    samples = np.clip(samples.astype("float32"), -1, 1)
    return np.nan_to_num(samples, copy=False, nan=0.0)
