"""What the metrics share: checks, and packages that are optional."""

import importlib

import numpy as np

from keras_duspar import checks


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


def optional_package(name):
    """Imports a package that only the metrics need."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"This metric needs the package `{name}`. Install it with "
            "`pip install keras-duspar[recipes]`."
        ) from error
