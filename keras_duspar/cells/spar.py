"""SpaR: a gated cell whose matrix products read only a rectified input."""

import keras
from keras import ops

from keras_duspar.cells.cost import Cost
from keras_duspar.cells.cost import Operand
from keras_duspar.cells.linear import LinearCell
from keras_duspar.cells.numerics import flush
from keras_duspar.cells.numerics import tanh


@keras.saving.register_keras_serializable(package="keras_duspar")
class SpaRCell(LinearCell):
    """Cell class for the SpaR layer.

    The Sparsifying Recurrent unit rectifies its input, and the zeros that
    this leaves need no multiplication:

    ```
    a = relu(x)
    z = sigmoid(a @ gate_kernel + gate_bias)
    c = tanh(a @ candidate_kernel)
    f = (1 - z) * f + z * c
    ```

    The output is the state `f`, of which entries below 2^-100 are zero outside
    of training, as processors are slow with smaller ones. The cell has `2 *
    features * units + units` parameters.

    Example:

    >>> inputs = np.random.random((32, 10, 8))
    >>> rnn = keras.layers.RNN(keras_duspar.SpaRCell(4))
    >>> tuple(rnn(inputs).shape)
    (32, 4)
    """

    state_names = ("f",)
    rectified = True

    def operand(self, inputs, training=False):
        return super().operand(ops.relu(inputs), training)

    def candidate(self, operand):
        return tanh(self.product("x", operand, self.candidate_kernel))

    def settled(self, state, training=False):
        # Sequences of training are too short for a state to die away.
        return state if training else flush(state)

    def margins(self, inputs, states, output, new_states):
        return {"x": inputs}

    def cost(self):
        return Cost(
            operands=(
                Operand("x", self.input_dim, 2 * self.units, sparse=True),
            ),
            biases=self.units,
            elementwise=2 * self.units,
        )
