"""minGRU: a gated cell whose gates read the input alone."""

import keras

from keras_duspar.cells.cost import Cost
from keras_duspar.cells.cost import Operand
from keras_duspar.cells.linear import LinearCell


@keras.saving.register_keras_serializable(package="keras_duspar")
class MinGRUCell(LinearCell):
    """Cell class for the MinGRU layer.

    The minimal GRU drops the reset gate, the state's kernels and the
    activation of the candidate:

    ```
    z = sigmoid(x @ gate_kernel + gate_bias)
    c = x @ candidate_kernel + candidate_bias
    h = (1 - z) * h + z * c
    ```

    The output is the state `h`.

    Args:
        bias_initializer: Initializer for the candidate's bias. Default:
            `"zeros"`.
        use_candidate_bias: Boolean, whether the candidate has a bias; the
            gate always has one. Default: `True`.

    Reference:
        Feng et al., 2024, "Were RNNs All We Needed?".

    Example:

    >>> inputs = np.random.random((32, 10, 8))
    >>> rnn = keras.layers.RNN(keras_duspar.MinGRUCell(4))
    >>> tuple(rnn(inputs).shape)
    (32, 4)
    """

    def __init__(
        self,
        units,
        *args,
        bias_initializer="zeros",
        use_candidate_bias=True,
        **kwargs,
    ):
        super().__init__(units, *args, **kwargs)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.use_candidate_bias = bool(use_candidate_bias)

    def build(self, input_shape):
        super().build(input_shape)
        if self.use_candidate_bias:
            self.candidate_bias = self.add_bias("candidate_bias", (self.units,))

    def candidate(self, operand):
        c = self.product("x", operand, self.candidate_kernel)
        return c + self.candidate_bias if self.use_candidate_bias else c

    def cost(self):
        return Cost(
            operands=(Operand("x", self.input_dim, 2 * self.units),),
            biases=(1 + self.use_candidate_bias) * self.units,
            elementwise=2 * self.units,
        )
