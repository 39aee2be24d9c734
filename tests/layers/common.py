"""Sizes, masks and layers that the tests of layers share."""

import numpy as np
import pytest

from tests import reference
from tests.helpers import LAYERS
from tests.helpers import NAMES
from tests.helpers import randomize

FEATURES, UNITS, BATCH, STEPS = 4, 5, 3, 7
EVERY_LAYER = pytest.mark.parametrize("name", NAMES)

# Masked steps at the start, in the middle and at the end.
MASK = np.array(
    [
        [1, 1, 0, 1, 0, 0, 1],
        [1, 1, 1, 1, 1, 1, 1],
        [0, 0, 1, 1, 0, 1, 0],
    ],
    bool,
)


def make(kind, x=None, **kwargs):
    layer = LAYERS[kind](UNITS, **kwargs)
    if x is not None:
        layer.build(x.shape)
        randomize(layer)
    return layer


def random_states(name, rng):
    states = reference.zero_states(name, BATCH, FEATURES, UNITS)
    return [rng.normal(size=s.shape).astype("float32") for s in states]
