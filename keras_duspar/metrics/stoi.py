"""Short-time objective intelligibility."""

import warnings

from keras_duspar.metrics.signals import check_not_silent
from keras_duspar.metrics.signals import check_signals
from keras_duspar.utils.audio_files import SAMPLE_RATE
from keras_duspar.utils.optional import optional_package


def stoi(reference, estimate, sample_rate=SAMPLE_RATE):
    """Short-time objective intelligibility (STOI), by `pystoi`.

    Args:
        reference: Clean audio, array of shape `(samples,)`, not silent.
        estimate: Audio of the same shape.
        sample_rate: Positive integer, samples per second. Default: 16000.

    Returns:
        A float of at most 1. Speech that is shorter than the 384 ms that the
        measure is defined for raises a `ValueError`.

    Example:

    >>> speech = np.random.default_rng(0).normal(size=16000)
    >>> round(keras_duspar.metrics.stoi(speech, speech), 3)
    1.0
    """
    pystoi = optional_package("pystoi")
    reference, estimate = check_signals(reference, estimate)
    check_not_silent(reference)
    with warnings.catch_warnings():
        # It would warn, and return a number that spoils a mean.
        warnings.simplefilter("error", RuntimeWarning)
        try:
            return float(pystoi.stoi(reference, estimate, sample_rate))
        except (RuntimeWarning, ValueError, IndexError) as error:
            raise ValueError(
                "`reference` must hold at least 384 ms of speech for STOI. "
                f"Received {len(reference)} samples."
            ) from error
