"""DuSpaR: two sparsifying cells, one of which predicts the other's input."""

import dataclasses

import keras
from keras import ops

from keras_duspar.cells.base import RecurrentCell
from keras_duspar.cells.base import reseed
from keras_duspar.cells.cost import Cost
from keras_duspar.cells.linear import gate_biases
from keras_duspar.cells.spar import SpaRCell


@keras.saving.register_keras_serializable(package="keras_duspar")
class DuSpaRCell(RecurrentCell):
    """Cell class for the DuSpaR layer.

    The Dual-state Sparsifying Recurrent unit couples two `SpaRCell`s: the
    feedforward cell with state `f` reads what is left of the input once the
    feedback state `g` is subtracted, and the feedback cell reads the output:

    ```
    e = x - (g + feedback_bias)
    f = feedforward(relu(e), f)
    y = f + feedforward_bias
    g = feedback(relu(y), g)
    ```

    where `feedforward` and `feedback` each compute

    ```
    z = sigmoid(a @ gate_kernel + gate_bias)
    c = tanh(a @ candidate_kernel)
    s = (1 - z) * s + z * c
    ```

    Matrices are multiplied only with `relu(e)` and `relu(y)`, whose zeros
    need no multiplication. The output is `y`, which is not a state; the
    states are `f`, of width `units`, and `g`, as wide as the input. The cell
    has `4 * features * units + 2 * (features + units)` parameters.

    Args:
        bias_initializer: Initializer for `feedforward_bias` and
            `feedback_bias`. Default: `"zeros"`.
        gate_bias_initializer: Initializer for the biases of the two gates,
            which sets how long the cell remembers before it is trained.
            Default: `None`, `keras.initializers.RandomUniform(-4, -1)`, for 4
            to 55 steps, chosen by the experiments in `docs/gate_bias.md`.
        dropout: Float in `[0, 1)`. Fraction of the entries of `relu(e)` to
            drop. Default: 0.
        recurrent_dropout: Float in `[0, 1)`. Fraction of the entries of
            `relu(y)` to drop. Default: 0.

    Call arguments:
        inputs: A 2D tensor, with shape `(batch, features)`.
        states: A list of two 2D tensors, the states from the previous time
            step: `f` with shape `(batch, units)` and `g` with shape
            `(batch, features)`.
        training: Python boolean indicating whether the layer should behave in
            training mode or in inference mode. Only relevant when `dropout`
            or `recurrent_dropout` is used.

    Example:

    >>> inputs = np.random.random((32, 10, 8))
    >>> rnn = keras.layers.RNN(keras_duspar.DuSpaRCell(4), return_state=True)
    >>> output, f, g = rnn(inputs)
    >>> tuple(output.shape), tuple(f.shape), tuple(g.shape)
    ((32, 4), (32, 4), (32, 8))
    """

    state_names = ("f", "g")
    wide_states = ("g",)
    initializers = RecurrentCell.initializers | {"gate_bias": None}

    def __init__(self, units, *args, **kwargs):
        super().__init__(units, *args, **kwargs)
        self.gate_bias_initializer = gate_biases(self.gate_bias_initializer)

    def build(self, input_shape):
        super().build(input_shape)
        self.feedforward = self._half("feedforward", self.input_dim, self.units)
        self.feedback = self._half("feedback", self.units, self.input_dim)
        self.feedforward_bias = self.add_bias("feedforward_bias", (self.units,))
        self.feedback_bias = self.add_bias("feedback_bias", (self.input_dim,))

    def _half(self, name, input_dim, units):
        # Each half has two kernels, of the same shape if the width stays.
        offset = 2 if name == "feedback" else 0
        quantization = self.quantization
        if quantization is not None:  # states are this cell's
            quantization = dataclasses.replace(quantization, states="float32")
        cell = SpaRCell(
            units,
            kernel_initializer=reseed(self.kernel_initializer, offset),
            gate_bias_initializer=reseed(self.gate_bias_initializer, offset),
            kernel_regularizer=self.kernel_regularizer,
            bias_regularizer=self.bias_regularizer,
            kernel_constraint=self.kernel_constraint,
            bias_constraint=self.bias_constraint,
            quantization=quantization,
            dtype=self.dtype_policy,
            trainable=self.trainable,
            name=name,
        )
        cell.build((None, input_dim))
        return cell

    def step(self, inputs, states, training=False):
        f, g = states
        e = ops.relu(inputs - (g + self.feedback_bias))
        e = self.feedforward.rounded("x", self.drop_inputs(e, training))
        f = self.feedforward.update(e, f, training)
        output = f + self.feedforward_bias
        y = self.drop_recurrent(ops.relu(output), training)
        y = self.feedback.rounded("x", y)
        g = self.feedback.update(y, g, training)
        return output, [f, g], {"e": e, "y": y}

    def margins(self, inputs, states, output, new_states):
        e = inputs - (states[1] + self.feedback_bias)
        return {"e": e, "y": output}

    def cost(self):
        halves = {"e": self.feedforward.cost(), "y": self.feedback.cost()}
        return Cost(
            operands=tuple(
                dataclasses.replace(half.operands[0], name=name)
                for name, half in halves.items()
            ),
            biases=sum(half.biases for half in halves.values())
            + self.units
            + self.input_dim,
            elementwise=sum(half.elementwise for half in halves.values()),
        )
