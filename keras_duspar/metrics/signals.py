"""What the metrics share."""

import numpy as np

from keras_duspar.utils import checks


def check_signals(reference, estimate):
    """Returns both as float64 arrays, of shape `(samples,)` and finite."""
    arrays = []
    for name, signal in (("reference", reference), ("estimate", estimate)):
        array = np.asarray(signal, "float64")
        if array.ndim != 1 or not array.size:
            raise checks.bad_value(
                name, "audio of shape `(samples,)`, not empty", array
            )
        checks.finite_array(name, array)
        arrays.append(array)
    reference, estimate = arrays
    if len(reference) != len(estimate):
        raise ValueError(
            "`reference` and `estimate` must have equally many samples. "
            f"Received {len(reference)} and {len(estimate)}."
        )
    return reference, estimate


def check_not_silent(reference):
    """Raises if there is nothing to compare with."""
    if not np.any(reference):
        raise ValueError(
            f"`reference` must not be silent. Received {len(reference)} zeros."
        )
