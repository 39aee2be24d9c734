"""D-GRU: a GRU that updates only the neurons that want it most."""

import keras
from keras import ops

from keras_duspar.cells.cost import Cost
from keras_duspar.cells.cost import Operand
from keras_duspar.cells.gated import GatedCell
from keras_duspar.utils import checks


@keras.saving.register_keras_serializable(package="keras_duspar")
class DynamicGRUCell(GatedCell):
    """Cell class for the DynamicGRU layer.

    A GRU that computes the update gate of all neurons first and then updates
    a fixed share of them, those with the largest update. Only they need the
    reset gate and the candidate; the others keep their state. In Keras'
    convention the gate `z` keeps the state, so the neurons with the smallest
    `z` are selected, the first of equals:

    ```
    z = sigmoid(x @ kernel_z + h @ recurrent_kernel_z + bias_z)
    s = z is one of the update_ratio * units smallest
    h = where(s, GRU(x, h), h)
    ```

    with Keras' own equations of the GRU (`reset_after=True`). With
    `update_ratio=1` the cell is a GRU with the same weights. The output is
    the state `h`.

    Args:
        update_ratio: Float in `(0, 1]`. Share of the neurons that are updated
            at every step, rounded to a whole number of at least one.
            Default: 0.5.

    Reference:
        Cheng et al., 2024, "Dynamic Gated Recurrent Neural Network for
        Compute-efficient Speech Enhancement".

    Example:

    >>> inputs = np.random.random((32, 10, 8))
    >>> rnn = keras.layers.RNN(keras_duspar.DynamicGRUCell(4))
    >>> tuple(rnn(inputs).shape)
    (32, 4)
    """

    bias_rows = 2

    def __init__(self, units, *args, update_ratio=0.5, **kwargs):
        super().__init__(units, *args, **kwargs)
        self.update_ratio = checks.number(
            "update_ratio", update_ratio, "(0, 1]"
        )
        self.updated_units = max(1, round(self.update_ratio * self.units))

    def step(self, inputs, states, training=False):
        x, h = self.operands(inputs, states[0], training)
        z, updated = self.gru(x, h, states[0])
        selected = self._select(z)
        output = ops.where(selected, updated, states[0])
        operands = {"x": x, "h": h, "selected": ops.cast(selected, z.dtype)}
        return output, [output], operands

    def _select(self, z):
        """Marks exactly `updated_units` of the smallest entries of `z`."""
        if self.updated_units == self.units:
            return ops.ones_like(z, dtype="bool")
        z = ops.stop_gradient(z)
        smallest, _ = ops.top_k(-z, self.updated_units)
        border = -smallest[:, -1:]
        below = z < border
        # Gates that saturate are equal; of those on the border only the
        # first are taken, so that the cost is the same at every step.
        equal = ops.cast(z == border, "int32")
        free = self.updated_units - ops.sum(
            ops.cast(below, "int32"), axis=-1, keepdims=True
        )
        first = ops.cumsum(equal, axis=-1) <= free
        return ops.logical_or(
            below, ops.logical_and(ops.cast(equal, "bool"), first)
        )

    def cost(self):
        # The update gate reads both vectors for all units; a unit that is
        # selected reads them twice more.
        return Cost(
            operands=(
                Operand("x", self.input_dim, self.units),
                Operand("h", self.units, self.units),
                Operand(
                    "selected",
                    self.units,
                    2 * (self.input_dim + self.units),
                    sparse=True,
                ),
            ),
            biases=self.bias_size,
            elementwise=3 * self.units,
        )
