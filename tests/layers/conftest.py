"""The input of the tests of layers."""

import pytest

from tests.layers.common import BATCH
from tests.layers.common import FEATURES
from tests.layers.common import STEPS


@pytest.fixture
def x(rng):
    return rng.normal(size=(BATCH, STEPS, FEATURES)).astype("float32")
