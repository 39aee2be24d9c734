"""The optimizer of all recipes."""

import keras
from keras import ops


def adam(config, rate, steps):
    """AdamW, as the settings say.

    Args:
        config: A `Config`.
        rate: Float, the learning rate at the start.
        steps: Integer, steps until the schedule ends.
    """
    if config.schedule == "cosine":
        rate = keras.optimizers.schedules.CosineDecay(rate, steps)
    return SteadyAdamW(
        rate,
        weight_decay=config.weight_decay,
        global_clipnorm=config.clipnorm or None,
    )


class SteadyAdamW(keras.optimizers.AdamW):
    """AdamW that passes over gradients without a finite norm.

    Through hundreds of steps of a recurrent layer the gradient of a rare
    recording may grow beyond what float32 holds while its loss is as small as
    any other. Clipping would make NaN of it, and the training would be lost.
    Such a gradient counts as zero.
    """

    def apply(self, grads, trainable_variables=None):
        given = [grad for grad in grads if grad is not None]
        square = sum(ops.sum(ops.square(grad)) for grad in given)
        usable = ops.isfinite(square)
        grads = [
            grad
            if grad is None
            else ops.where(usable, grad, ops.zeros_like(grad))
            for grad in grads
        ]
        return super().apply(grads, trainable_variables)
