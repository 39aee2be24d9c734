"""Perceptual evaluation of speech quality."""

from keras_duspar.metrics.signals import check_not_silent
from keras_duspar.metrics.signals import check_signals
from keras_duspar.utils import checks
from keras_duspar.utils.audio_files import SAMPLE_RATE
from keras_duspar.utils.optional import optional_package


def pesq_wb(reference, estimate, sample_rate=SAMPLE_RATE):
    """Wide-band PESQ, ITU-T P.862.2, by the package `pesq`.

    Args:
        reference: Clean audio, array of shape `(samples,)`, not silent.
        estimate: Audio of the same shape.
        sample_rate: Must be 16000, which is the default.

    Returns:
        A float, from 1.04, bad, to 4.64, excellent. Where PESQ has no value,
        as for audio in which it finds no speech, a `ValueError` is raised.

    Example:

    >>> time = np.arange(16000) / 16000
    >>> speech = np.sin(1000 * time) * np.sin(9 * time)
    >>> round(keras_duspar.metrics.pesq_wb(speech, speech), 2)
    4.64
    """
    pesq = optional_package("pesq")
    checks.choice("sample_rate", sample_rate, (SAMPLE_RATE,))
    reference, estimate = check_signals(reference, estimate)
    check_not_silent(reference)
    try:
        return float(pesq.pesq(sample_rate, reference, estimate, "wb"))
    except (pesq.PesqError, ValueError) as error:  # the latter for silence
        reason = error.args[0] if error.args else error
        if isinstance(reason, bytes):
            reason = reason.decode()
        raise ValueError(
            f"PESQ has no value for these {len(reference)} samples: {reason}"
        ) from error
