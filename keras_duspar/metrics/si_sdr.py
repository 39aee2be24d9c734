"""Scale-invariant signal-to-distortion ratio."""

import numpy as np

from keras_duspar.metrics.signals import check_not_silent
from keras_duspar.metrics.signals import check_signals


def si_sdr(reference, estimate):
    """Scale-invariant signal-to-distortion ratio (SI-SDR), in dB.

    The power of the estimate's projection on the reference over the power of
    the rest, after both have lost their mean. Computed in float64.

    Args:
        reference: Clean audio, array of shape `(samples,)`, not silent.
        estimate: Audio of the same shape.

    Returns:
        A float: infinity for a perfect estimate, minus infinity for one that
        has nothing in common with the reference, such as silence.

    Reference:
        Le Roux et al., 2019, "SDR - half-baked or well done?",
        https://arxiv.org/abs/1811.02508

    Example:

    >>> clean = np.array([1.0, -1.0, 1.0, -1.0])
    >>> noise = np.array([0.1, 0.1, -0.1, -0.1])
    >>> round(keras_duspar.metrics.si_sdr(clean, clean + noise), 3)
    20.0
    """
    reference, estimate = check_signals(reference, estimate)
    reference = reference - reference.mean()
    estimate = estimate - estimate.mean()
    check_not_silent(reference)
    scale = np.dot(estimate, reference) / np.dot(reference, reference)
    projection = scale * reference
    power = np.sum(projection**2)
    rest = np.sum((estimate - projection) ** 2)
    if power == 0:
        return -np.inf
    if rest == 0:
        return np.inf
    return float(10 * np.log10(power / rest))
