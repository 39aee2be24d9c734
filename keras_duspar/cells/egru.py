"""EGRU: a GRU whose units send only events to each other."""

import keras
from keras import ops

from keras_duspar.cells.cost import Cost
from keras_duspar.cells.cost import Operand
from keras_duspar.cells.gated import GatedCell
from keras_duspar.rounding import arithmetic
from keras_duspar.utils import checks


@keras.saving.register_keras_serializable(package="keras_duspar")
class EGRUCell(GatedCell):
    """Cell class for the EGRU layer.

    The Event-based GRU keeps its state `c` to itself. Other units and the
    next layer see the output `y`, which is zero but for the units whose state
    has crossed their threshold. After such an event the threshold is
    subtracted from the state:

    ```
    z = sigmoid(x @ kernel_z + y @ recurrent_kernel_z + bias_z)
    r = sigmoid(x @ kernel_r + y @ recurrent_kernel_r + bias_r)
    g = tanh(x @ kernel_g + bias_g
             + r * (y @ recurrent_kernel_g + recurrent_bias_g))
    c = z * c + (1 - z) * g
    event = c > threshold
    y = where(event, c, 0)
    c = where(event, c - threshold, c)
    ```

    These are the equations of the authors' code, EvNN, without its zoneout
    and its dropout of recurrent weights. As in `keras.layers.GRU`
    (`reset_after=True`), `z` keeps the state and the reset gate comes after
    the recurrent product; `bias` has two rows. Every unit learns its
    threshold, which training keeps in `[0, 1]`. So the output is never
    negative.

    The output is `y`; the states are `y` and `c`. An event has no derivative.
    In its place gradients have a triangle around the threshold:

    ```
    surrogate_height * max(0, 1 - abs(c - threshold) / surrogate_width)
    ```

    Args:
        threshold_mean: Float in `(0, 1)`. Mean of the initial thresholds,
            which are drawn from the beta distribution whose second parameter
            is 3. Higher thresholds make fewer events. Default: 0.3.
        surrogate_height: Float, at least 0. Derivative of an event at the
            threshold, EvNN's `dampening_factor`. Default: 0.7.
        surrogate_width: Float, more than 0. Distance from the threshold at
            which the derivative ends, the inverse of EvNN's
            `pseudo_derivative_support`. Default: 1.

    Call arguments:
        inputs: A 2D tensor, with shape `(batch, features)`.
        states: A list of two 2D tensors with shape `(batch, units)`, the
            states `y` and `c` from the previous time step.
        training: Python boolean indicating whether the layer should behave in
            training mode or in inference mode. Only relevant when `dropout`
            or `recurrent_dropout` is used.

    Reference:
        Subramoney et al., 2023, "Efficient recurrent architectures through
        activity sparsity and sparse back-propagation through time".

    Example:

    >>> inputs = np.random.random((32, 10, 8))
    >>> rnn = keras.layers.RNN(keras_duspar.EGRUCell(4), return_state=True)
    >>> output, y, c = rnn(inputs)
    >>> tuple(output.shape), tuple(y.shape), tuple(c.shape)
    ((32, 4), (32, 4), (32, 4))
    """

    state_names = ("y", "c")
    bias_rows = 2
    rectified = True

    def __init__(
        self,
        units,
        *args,
        threshold_mean=0.3,
        surrogate_height=0.7,
        surrogate_width=1.0,
        **kwargs,
    ):
        super().__init__(units, *args, **kwargs)
        self.threshold_mean = checks.number(
            "threshold_mean", threshold_mean, "(0, 1)"
        )
        self.surrogate_height = checks.number(
            "surrogate_height", surrogate_height, "[0, inf)"
        )
        self.surrogate_width = checks.number(
            "surrogate_width", surrogate_width, "(0, inf)"
        )

    def build(self, input_shape):
        super().build(input_shape)
        self.threshold = self.add_weight(
            name="threshold",
            shape=(self.units,),
            initializer=self._draw_thresholds,
            constraint=_unit_interval,
        )

    def _draw_thresholds(self, shape, dtype=None):
        mean = self.threshold_mean
        return keras.random.beta(shape, 3 * mean / (1 - mean), 3, dtype=dtype)

    def step(self, inputs, states, training=False):
        x, y = self.operands(inputs, states[0], training)
        _, c = self.gru(x, y, states[1])
        event = self._event(c - self.threshold)
        output = event * c
        return output, [output, c - event * self.threshold], {"x": x, "y": y}

    def _event(self, above):
        """1 where `above` is positive and 0 elsewhere."""
        width = self.surrogate_width
        near = ops.clip(above, -width, width)
        # The integral of the triangle, for its derivative alone.
        surrogate = self.surrogate_height * (
            near - near * ops.abs(near) / (2 * width)
        )
        return arithmetic.straight_through(
            surrogate, ops.cast(above > 0, above.dtype)
        )

    def margins(self, inputs, states, output, new_states):
        # Of the events that the next step reads; after one, the threshold is
        # subtracted already.
        c = new_states[1]
        return {"y": ops.where(output > 0, c, c - self.threshold)}

    def cost(self):
        # An event-based layer below makes `x` sparse, too.
        return Cost(
            operands=(
                Operand("x", self.input_dim, 3 * self.units, sparse=True),
                Operand("y", self.units, 3 * self.units, sparse=True),
            ),
            # The threshold is subtracted once: the difference decides on the
            # event and is the state after it.
            biases=self.bias_size + self.units,
            elementwise=3 * self.units,
        )


def _unit_interval(weight):
    """A constraint: the nearest number in `[0, 1]`."""
    return ops.clip(weight, 0, 1)
