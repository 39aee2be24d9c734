"""The meters of a model's layers, which together tell its occupancy."""

import keras
import numpy as np

from keras_duspar.layers import metering
from keras_duspar.layers import walking
from keras_duspar.profiling.profile import dense_profile
from keras_duspar.utils.nesting import all_layers


class Meters:
    """Turns on the meters of a model's recurrent layers.

    Args:
        model: A built model, with at least one layer whose cell has
            `margins()`.
        width: Float, the width of the sigmoid in gradients.
        steps_per_second: Float, as in `keras_duspar.profile()`.

    Attributes:
        profile: The `Profile` of the model if nothing is skipped.
        fixed: Float, the occupancy that is left if every entry of every
            metered operand is zero.
    """

    def __init__(self, model, width, steps_per_second=None):
        layers = {
            path: layer
            for path, layer in walking.recurrent_layers(model).items()
            if metering.is_possible(layer)
        }
        if not layers:
            found = [
                type(layer).__name__
                for layer in walking.recurrent_layers(model).values()
            ]
            raise ValueError(
                "`model` must have a recurrent layer that can be trained for "
                "a budget: DuSpaR, SpaR, DeltaGRU or EGRU. Received: "
                f"{model.name!r} with {', '.join(found) or 'none'}."
            )
        self.profile = dense_profile(model, _length(model), steps_per_second)
        self.fixed = 1.0
        self.meters = []
        for found in self.profile.layers:
            if found.name not in layers:
                continue
            rate = found.steps_per_second / self.profile.dense_macs
            shares = {
                o.name: o.size * o.fan * rate
                for o in found.cost.operands
                if o.sparse
            }
            self.fixed -= sum(shares.values())
            layer = layers[found.name]
            layer.meter = metering.Meter(layer, shares, width)
            self.meters.append(layer.meter)

    @property
    def occupancy(self):
        """The model's occupancy in the last training step, a float."""
        return self.fixed + sum(
            float(np.dot(_numpy(meter.occupancies), [*meter.shares.values()]))
            for meter in self.meters
        )

    def set_weight(self, weight):
        """Sets what the model's occupancy costs."""
        for meter in self.meters:
            meter.weight.assign(weight)

    def remove(self):
        """Turns the meters off; the layers are as they were."""
        for meter in self.meters:
            meter.layer.meter = None


def _numpy(variable):
    return keras.ops.convert_to_numpy(variable).astype("float64")


def _length(model):
    """Length of an input that is open: a second of audio, or 64 steps."""
    rates = (getattr(x, "sample_rate", None) for x in all_layers(model))
    return next(filter(None, rates), 64)
