"""IRNN: a rectified recurrent cell that starts as the identity."""

import keras
from keras import ops

from keras_duspar.cells.cost import Cost
from keras_duspar.cells.cost import Operand
from keras_duspar.cells.gated import GatedCell


@keras.saving.register_keras_serializable(package="keras_duspar")
class IRNNCell(GatedCell):
    """Cell class for the IRNN layer.

    A simple recurrent unit with rectified states, whose recurrent kernel
    starts as the identity:

    ```
    h = relu(x @ kernel + h @ recurrent_kernel + bias)
    ```

    The output is the state `h`; its zeros need no multiplication. Nothing
    bounds the state: gradients explode on long sequences, and the paper could
    not train this cell on its intent and enhancement tasks.

    Args:
        recurrent_initializer: Initializer for the `recurrent_kernel` weights
            matrix, used for the state. Default: `"identity"`.

    Reference:
        Le et al., 2015, "A Simple Way to Initialize Recurrent Networks of
        Rectified Linear Units".

    Example:

    >>> inputs = np.random.random((32, 10, 8))
    >>> rnn = keras.layers.RNN(keras_duspar.IRNNCell(4))
    >>> tuple(rnn(inputs).shape)
    (32, 4)
    """

    blocks = 1
    rectified = True
    initializers = GatedCell.initializers | {"recurrent": "identity"}

    def step(self, inputs, states, training=False):
        x, h = self.operands(inputs, states[0], training)
        x_sums, h_sums = self.sums(x, h)
        output = ops.relu(x_sums + h_sums + self.bias)
        return output, [output], {"x": x, "h": h}

    def cost(self):
        return Cost(
            operands=(
                Operand("x", self.input_dim, self.units),
                Operand("h", self.units, self.units, sparse=True),
            ),
            biases=self.bias_size,
        )
