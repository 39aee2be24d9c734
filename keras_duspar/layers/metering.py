"""Occupancy of a layer while it trains, with a gradient.

An entry of an operand costs MACs or it does not: a step, which has no useful
derivative. In its place gradients have that of a sigmoid, so that entries near
the step are moved and those that carry the signal are left alone.
"""

import keras
from keras import ops

from keras_duspar.cells.base import RecurrentCell
from keras_duspar.rounding import arithmetic


def is_possible(layer):
    """Whether a layer has a meter to turn on."""
    cell = getattr(layer, "cell", None)
    return (
        hasattr(layer, "meter")
        and type(cell).margins is not RecurrentCell.margins
    )


class Meter:
    """Reads the occupancy of a layer in training, and charges for it.

    The layer adds `weight * cost` to the loss, where `cost` is the part of
    the model's occupancy that the layer is to blame for. Only its gradient is
    added: the loss that is shown stays what it was.

    Args:
        layer: A `RecurrentLayer` that is built.
        shares: Dictionary of operand name to the share of the model's MACs
            that it costs if no entry is zero, for all operands whose zeros
            are skipped.
        width: Float above 0, the width of the sigmoid, in the units of the
            cell's `margins()`.

    Attributes:
        weight: Variable, what the model's whole occupancy costs.
        occupancies: Variable, the occupancy of each operand in the last step.
    """

    def __init__(self, layer, shares, width):
        self.layer, self.shares, self.width = layer, dict(shares), width
        double = layer.cell.compute_dtype == "float64"
        self.dtype = "float64" if double else "float32"
        with keras.name_scope(layer.name):
            self.weight = self._variable("budget_weight", ())
            self.occupancies = self._variable("occupancies", (len(shares),))

    def _variable(self, name, shape):
        return keras.Variable(
            ops.zeros(shape, self.dtype),
            dtype=self.dtype,
            trainable=False,
            autocast=False,
            name=name,
        )

    @property
    def variables(self):
        return [self.weight, self.occupancies]

    def count(self, inputs, states, results):
        """Occupancies of one step, or of all steps at once.

        Args:
            inputs: Tensor, the cell's input.
            states: List of tensors, the states before the step.
            results: What the cell's `step()` returned.

        Returns:
            Tensor of the shape of `inputs` but for the last axis, which has
            an entry per operand.
        """
        output, new_states, operands = results
        margins = self.layer.cell.margins(inputs, states, output, new_states)
        counts = []
        for name in self.shares:
            # Rounding makes more zeros, dropout does in training only.
            taken = operands[name] != 0
            if name in margins and self.layer.cell.quantization is None:
                taken = margins[name] > 0
            count = ops.cast(taken, self.dtype)
            if name in margins:
                margin = ops.cast(margins[name], self.dtype)
                count = arithmetic.straight_through(
                    ops.sigmoid(margin / self.width), count
                )
            counts.append(ops.mean(count, axis=-1))
        return ops.stack(counts, axis=-1)

    def read_sums(self, sums, sequences, mask):
        """Takes the sums of `count()` over time, one row per sequence."""
        if mask is None:
            shape = ops.shape(sequences)
            steps = ops.cast(shape[0] * shape[1], self.dtype)
        else:
            steps = ops.maximum(ops.sum(ops.cast(mask, self.dtype)), 1)
        self.read(ops.sum(sums, axis=0) / steps)

    def read(self, occupancies):
        """Takes the occupancies of a training step, and charges for them."""
        self.occupancies.assign(ops.stop_gradient(occupancies))
        shares = ops.convert_to_tensor(list(self.shares.values()), self.dtype)
        cost = ops.sum(occupancies * shares)
        self.layer.add_loss(self.weight * (cost - ops.stop_gradient(cost)))
