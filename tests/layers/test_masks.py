"""Masked steps: outputs and states, the same on every backend."""

import itertools

import keras
import numpy as np
import pytest

from tests import reference
from tests.helpers import assert_close
from tests.helpers import weights_of
from tests.layers.common import BATCH
from tests.layers.common import EVERY_LAYER
from tests.layers.common import FEATURES
from tests.layers.common import MASK
from tests.layers.common import STEPS
from tests.layers.common import UNITS
from tests.layers.common import make
from tests.layers.common import random_states


@EVERY_LAYER
def test_stateful_with_mask_trains(name, x):
    """States that are overwritten must not spoil the gradients."""
    inputs = keras.Input(batch_shape=x.shape)
    layer = make(name, stateful=True)
    model = keras.Model(inputs, layer(inputs, mask=MASK))
    model.compile("sgd", "mse")
    for _ in range(2):
        loss = model.train_on_batch(x, np.ones((BATCH, UNITS), "float32"))
    assert np.isfinite(loss)


@pytest.mark.parametrize(
    "backwards, unroll, zero_output",
    itertools.product([False, True], repeat=3),
)
@EVERY_LAYER
def test_masking(name, x, rng, backwards, unroll, zero_output):
    layer = make(
        name,
        x,
        return_sequences=True,
        return_state=True,
        go_backwards=backwards,
        unroll=unroll,
        zero_output_for_mask=zero_output,
    )
    states = random_states(name, rng) if backwards == unroll else None
    output, *final = layer(x, initial_state=states, mask=MASK)
    order = slice(None, None, -1) if backwards else slice(None)
    expected, expected_final, _ = reference.run(
        name,
        weights_of(layer),
        x[:, order],
        states,
        mask=MASK[:, order],
        zero_output=zero_output,
    )
    assert_close([output, *final], [expected, *expected_final])


@EVERY_LAYER
def test_masking_of_last_output(name, x):
    layer = make(name, x)
    expected, _, _ = reference.run(name, weights_of(layer), x, mask=MASK)
    assert_close(layer(x, mask=MASK), expected[:, -1])


@EVERY_LAYER
def test_masking_layer(name, x):
    """Masks also come from `keras.layers.Masking`, and are passed on."""
    x[~MASK] = 0
    model = keras.Sequential(
        [
            keras.Input((STEPS, FEATURES)),
            keras.layers.Masking(),
            make(name, return_sequences=True),
            make(name),
        ]
    )
    first, second = model.layers[1:]
    hidden, _, _ = reference.run(name, weights_of(first), x, mask=MASK)
    expected, _, _ = reference.run(name, weights_of(second), hidden, mask=MASK)
    assert_close(model(x), expected[:, -1])
