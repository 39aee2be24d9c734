"""The recipes' optimizer: AdamW, but for gradients that cannot be used."""

import keras
import numpy as np
import pytest


@pytest.fixture
def trained():
    import kws
    from trainer import config as configs
    from trainer import optimizers

    def train(batches, make=optimizers.adam):
        config = configs.make(kws.Config, {})
        model = keras.Sequential(
            [
                keras.Input((3,)),
                keras.layers.Dense(2, kernel_initializer="ones"),
            ]
        )
        model.compile(make(config, 0.01, 10), "mae")
        for scale in batches:
            x = np.full((4, 3), scale, "float32")
            loss = model.train_on_batch(x, np.zeros((4, 2), "float32"))
            assert np.isfinite(loss)
        return model.get_weights()

    return train


def adam(config, rate, steps):
    return keras.optimizers.AdamW(
        keras.optimizers.schedules.CosineDecay(rate, steps),
        weight_decay=config.weight_decay,
        global_clipnorm=config.clipnorm,
    )


def test_like_adamw(trained):
    for found, expected in zip(
        trained([1, -2, 3]), trained([1, -2, 3], adam), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


# Its square is beyond float32.
@pytest.mark.parametrize("huge", [1e25, 1e36])
def test_huge_gradient_is_passed_over(trained, huge):
    assert np.isnan(trained([1, huge], adam)[0]).all()
    weights = trained([1, huge, 1])
    assert all(np.isfinite(w).all() for w in weights)
    assert not np.array_equal(weights[0], trained([1, huge])[0])
