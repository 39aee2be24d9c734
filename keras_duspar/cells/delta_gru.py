"""Delta-GRU: a GRU that reads only what has changed."""

import keras
from keras import ops

from keras_duspar.cells.cost import Cost
from keras_duspar.cells.cost import Operand
from keras_duspar.cells.gated import GatedCell
from keras_duspar.utils import checks


@keras.saving.register_keras_serializable(package="keras_duspar")
class DeltaGRUCell(GatedCell):
    """Cell class for the DeltaGRU layer.

    A GRU that multiplies its kernels with the change of the input and of the
    state since an entry was last updated, and skips the entries that have
    changed by less than `theta`:

    ```
    x_hat = where(abs(x - x_hat) >= theta, x, x_hat)
    h_hat = where(abs(h - h_hat) >= theta, h, h_hat)
    h = GRU(x_hat, h_hat)
    ```

    with Keras' own equations of the GRU (`reset_after=True`) for the gates
    and the candidate. A device that keeps the running sums of
    `kernel @ change` pays for the changed entries only. Here the sums are
    computed afresh from `x_hat` and `h_hat`: the same numbers, without the
    rounding errors that sums collect over a long stream. With `theta=0` the
    cell is a GRU with the same weights.

    The output is the state `h`; the states are `h`, `x_hat`, which is as
    wide as the input, and `h_hat`.

    Args:
        theta: Float, at least 0. Smallest change that counts.
            Default: 0.04.

    Call arguments:
        inputs: A 2D tensor, with shape `(batch, features)`.
        states: A list of three 2D tensors, the states from the previous time
            step: `h` with shape `(batch, units)`, `x_hat` with shape
            `(batch, features)` and `h_hat` with shape `(batch, units)`.
        training: Python boolean indicating whether the layer should behave in
            training mode or in inference mode. Only relevant when `dropout`
            or `recurrent_dropout` is used.

    Reference:
        Neil et al., 2017, "Delta Networks for Optimized Recurrent Network
        Computation".

    Example:

    >>> inputs = np.random.random((32, 10, 8))
    >>> rnn = keras.layers.RNN(keras_duspar.DeltaGRUCell(4, theta=0.1))
    >>> tuple(rnn(inputs).shape)
    (32, 4)
    """

    state_names = ("h", "x_hat", "h_hat")
    wide_states = ("x_hat",)
    bias_rows = 2

    def __init__(self, units, *args, theta=0.04, **kwargs):
        super().__init__(units, *args, **kwargs)
        self.theta = checks.number("theta", theta, "[0, inf)")

    def step(self, inputs, states, training=False):
        h, x_hat, h_hat = states
        x_hat, dx = self._take_over(x_hat, inputs)
        h_hat, dh = self._take_over(h_hat, h)
        _, h = self.gru(*self.operands(x_hat, h_hat, training), h)
        return h, [h, x_hat, h_hat], {"dx": dx, "dh": dh}

    def _take_over(self, old, new):
        """The entries after a step, and their change."""
        change = new - old
        changed = ops.abs(change) >= self.theta
        return (
            ops.where(changed, new, old),
            ops.where(changed, change, ops.zeros_like(change)),
        )

    def margins(self, inputs, states, output, new_states):
        # Changes in units of the threshold.
        h, x_hat, h_hat = states
        changes = {"dx": inputs - x_hat, "dh": h - h_hat}
        theta = max(self.theta, 1e-6)
        return {k: ops.abs(v) / theta - 1 for k, v in changes.items()}

    def cost(self):
        return Cost(
            operands=(
                Operand("dx", self.input_dim, 3 * self.units, sparse=True),
                Operand("dh", self.units, 3 * self.units, sparse=True),
            ),
            biases=self.bias_size,
            elementwise=3 * self.units,
        )
