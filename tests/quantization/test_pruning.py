"""Pruning while a model trains, and what the profile tells of it."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_duspar
from keras_duspar import pruning
from keras_duspar.callbacks import Prune


def fitted(*callbacks, epochs=3):
    model = keras.Sequential(
        [
            keras.Input((None, 6)),
            keras_duspar.DuSpaR(8, name="recurrent"),
            keras.layers.Dense(4, name="dense"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "mse")
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(16, 5, 6)), rng.normal(size=(16, 4))
    history = model.fit(
        x, y, batch_size=8, epochs=epochs, verbose=0, callbacks=callbacks
    )
    return model, x, history.history


def test_smallest_weights_go_and_stay_away():
    prune = Prune(0.75, end_step=2, frequency=1)
    model, x, history = fitted(prune)
    # Half of the way, less is left to go than has gone.
    first, *rest = history["weight_sparsity"]
    assert first == pytest.approx(0.75 * (1 - 0.5**3), abs=0.02)
    assert rest == [0.75, 0.75]
    for kernel in pruning.kernels(model):
        value = ops.convert_to_numpy(kernel)
        assert (value == 0).mean() == 0.75
    biases = model.get_layer("dense").bias
    assert (ops.convert_to_numpy(biases) != 0).all()
    profile = keras_duspar.profile(model, x.astype("float32"))
    layer = profile.layers[0]
    assert layer.weight_density == 0.25
    assert layer.nonzero_macs == layer.effective_macs / 4
    assert profile.weight_density == pytest.approx(0.25)
    assert profile.effective_macs / profile.dense_macs == profile.occupancy
    assert "non-zero weights" in str(profile)
    assert profile.to_dict()["layers"][0]["weight_density"] == 0.25


@pytest.mark.any_backend
def test_whole_rows():
    model, _, _ = fitted(Prune(0.5, end_step=1, frequency=1, rows=True))
    for group in pruning.kernel_groups(model):
        zero = [(ops.convert_to_numpy(k) == 0).all(axis=1) for k in group]
        assert zero[0].mean() == 0.5
        for other in zero[1:]:
            np.testing.assert_array_equal(zero[0], other)
    assert [len(g) for g in pruning.kernel_groups(model)] == [2, 2, 1]


@pytest.mark.any_backend
def test_masks_take_the_smallest():
    kernel = keras.Variable([[3.0, -1.0], [0.5, -4.0]])
    ((_, mask),) = pruning.masks([kernel], 0.5, rows=False).values()
    np.testing.assert_array_equal(mask, [[1, 0], [0, 1]])
    ((_, mask),) = pruning.masks([kernel], 0.5, rows=True).values()
    np.testing.assert_array_equal(mask, [[0, 0], [1, 1]])


@pytest.mark.any_backend
@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"schedule": 1.5}, "`schedule` must be"),
        ({"schedule": 0.5}, "`end_step` must be"),
        ({"schedule": 0.5, "end_step": 5, "begin_step": 5}, "above"),
        ({"schedule": lambda step: (1, 0.5), "end_step": 5}, "`end_step`"),
    ],
)
def test_bad_schedules(arguments, message):
    with pytest.raises(ValueError, match=message):
        Prune(**arguments)
