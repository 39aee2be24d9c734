"""Li-GRU: a GRU without the reset gate and with a rectified candidate."""

import keras
from keras import ops

from keras_duspar.cells.cost import Cost
from keras_duspar.cells.cost import Operand
from keras_duspar.cells.gated import GatedCell


@keras.saving.register_keras_serializable(package="keras_duspar")
class LiGRUCell(GatedCell):
    """Cell class for the LiGRU layer.

    The Light GRU has no reset gate, and its candidate is rectified:

    ```
    z = sigmoid(x @ kernel_z + h @ recurrent_kernel_z + bias_z)
    c = relu(x @ kernel_c + h @ recurrent_kernel_c + bias_c)
    h = z * h + (1 - z) * c
    ```

    The output is the state `h`. The batch normalization of the original is
    left out. Nothing bounds the state: gradients explode on long sequences,
    and the paper could not train this cell on its intent and enhancement
    tasks.

    Reference:
        Ravanelli et al., 2018, "Light Gated Recurrent Units for Speech
        Recognition".

    Example:

    >>> inputs = np.random.random((32, 10, 8))
    >>> rnn = keras.layers.RNN(keras_duspar.LiGRUCell(4))
    >>> tuple(rnn(inputs).shape)
    (32, 4)
    """

    blocks = 2

    def step(self, inputs, states, training=False):
        x, h = self.operands(inputs, states[0], training)
        x_sums, h_sums = self.sums(x, h)
        z, c = ops.split(x_sums + h_sums + self.bias, 2, axis=-1)
        z = ops.sigmoid(z)
        output = z * states[0] + (1 - z) * ops.relu(c)
        return output, [output], {"x": x, "h": h}

    def cost(self):
        return Cost(
            operands=(
                Operand("x", self.input_dim, 2 * self.units),
                Operand("h", self.units, 2 * self.units),
            ),
            biases=self.bias_size,
            elementwise=2 * self.units,
        )
