"""Cells with an input kernel and a recurrent kernel, as GRU has them."""

from keras import ops

from keras_duspar.cells.base import RecurrentCell
from keras_duspar.cells.numerics import tanh


class GatedCell(RecurrentCell):
    """Base class of cells with one kernel for the input and one for the state.

    Weights are laid out as in `keras.layers.GRU`: the columns of `kernel`,
    `recurrent_kernel` and `bias` are `blocks` blocks of `units`, and `bias`
    has a row for the input and one for the state if `bias_rows` is 2.
    `rectified` says whether the state is never negative.

    Args:
        kernel_initializer: Initializer for the `kernel` weights matrix, used
            for the inputs. Default: `"glorot_uniform"`.
        recurrent_initializer: Initializer for the `recurrent_kernel` weights
            matrix, used for the state. Default: `"orthogonal"`.
        recurrent_regularizer: Regularizer function applied to the
            `recurrent_kernel` weights matrix. Default: `None`.
        recurrent_constraint: Constraint function applied to the
            `recurrent_kernel` weights matrix. Default: `None`.
        recurrent_dropout: Float in `[0, 1)`. Fraction of the entries of the
            state to drop where it enters the recurrent kernel. Default: 0.

    Call arguments:
        inputs: A 2D tensor, with shape `(batch, features)`.
        states: A list of one 2D tensor with shape `(batch, units)`, which is
            the state from the previous time step.
        training: Python boolean indicating whether the layer should behave in
            training mode or in inference mode. Only relevant when `dropout`
            or `recurrent_dropout` is used.
    """

    blocks = 3
    bias_rows = 1
    rectified = False
    initializers = {
        "kernel": "glorot_uniform",
        "recurrent": "orthogonal",
        "bias": "zeros",
    }
    families = ("kernel", "recurrent", "bias")

    def build(self, input_shape):
        super().build(input_shape)
        self.add_operand("x", self.input_dim)
        self.add_operand("h", self.units, signed=not self.rectified)
        columns = self.blocks * self.units
        self.kernel = self.add_kernel("kernel", (self.input_dim, columns))
        self.recurrent_kernel = self.add_kernel(
            "recurrent_kernel", (self.units, columns), "recurrent"
        )
        self.bias = self.add_bias(
            "bias", (2, columns) if self.bias_rows == 2 else (columns,)
        )

    def operands(self, inputs, state, training=False):
        """The vectors that the two kernels are multiplied with."""
        return (
            self.rounded("x", self.drop_inputs(inputs, training)),
            self.rounded("h", self.drop_recurrent(state, training)),
        )

    def sums(self, x, h):
        """The products of the operands with their kernels."""
        return (
            self.product("x", x, self.kernel),
            self.product("h", h, self.recurrent_kernel),
        )

    def gru(self, x, h, state):
        """The update gate and the state after a step, as Keras' GRU has them.

        Args:
            x: The operand of `kernel`.
            h: The operand of `recurrent_kernel`.
            state: The state before the step.
        """
        x_sums, h_sums = self.sums(x, h)
        x_z, x_r, x_c = ops.split(x_sums + self.bias[0], 3, axis=-1)
        h_z, h_r, h_c = ops.split(h_sums + self.bias[1], 3, axis=-1)
        z = ops.sigmoid(x_z + h_z)
        r = ops.sigmoid(x_r + h_r)
        c = tanh(x_c + r * h_c)
        return z, z * state + (1 - z) * c

    @property
    def bias_size(self):
        """Number of bias entries added at every step."""
        return self.bias_rows * self.blocks * self.units
