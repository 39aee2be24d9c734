"""All time steps at once, equal to the loop."""

import keras
import numpy as np
import pytest

from tests.helpers import assert_close
from tests.layers.common import BATCH
from tests.layers.common import FEATURES
from tests.layers.common import MASK
from tests.layers.common import STEPS
from tests.layers.common import UNITS
from tests.layers.common import make
from tests.layers.common import random_states


@pytest.mark.parametrize("name", ["spar", "mingru"])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("zero_output", [False, True])
@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize("with_states", [False, True])
def test_parallel_equals_loop(
    name, x, rng, backwards, zero_output, mask, with_states
):
    options = {
        "return_sequences": True,
        "return_state": True,
        "go_backwards": backwards,
        "zero_output_for_mask": zero_output,
    }
    loop = make(name, x, **options)
    parallel = make(name, x, parallel=True, **options)
    states = random_states(name, rng) if with_states else None
    assert_close(
        parallel(x, initial_state=states, mask=mask),
        loop(x, initial_state=states, mask=mask),
        atol=2e-6,
    )


@pytest.mark.parametrize("name", ["spar", "mingru"])
@pytest.mark.parametrize("steps", [1, 2, 61])
def test_parallel_lengths(name, steps, rng):
    x = rng.normal(size=(2, steps, FEATURES)).astype("float32")
    loop, parallel = make(name, x), make(name, x, parallel=True)
    assert_close(parallel(x), loop(x), atol=5e-6)


@pytest.mark.parametrize("name", ["spar", "mingru"])
def test_parallel_trains_like_the_loop(name, x):
    y = np.ones((BATCH, UNITS), "float32")
    weights = []
    for parallel in (False, True):
        keras.utils.set_random_seed(3)
        model = keras.Sequential(
            [
                keras.Input((STEPS, FEATURES)),
                make(name, parallel=parallel, dropout=0.2, seed=1),
            ]
        )
        model.compile("sgd", "mse")
        for _ in range(3):
            model.train_on_batch(x, y)
        weights.append(model.get_weights())
    assert_close(*weights)


@pytest.mark.parametrize("name", ["spar", "mingru"])
def test_parallel_with_unknown_time(name, x):
    inputs = keras.Input((None, FEATURES))
    layer = make(name, parallel=True)
    model = keras.Model(inputs, layer(inputs))
    loop = make(name)
    loop.build(x.shape)
    loop.set_weights(layer.get_weights())
    for some in (x, x[:, :3], x[:, :1]):
        assert_close(model.predict_on_batch(some), loop(some))
