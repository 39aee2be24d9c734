"""Cells whose gates do not read the state, so that time can be scanned."""

import keras
from keras import ops

from keras_duspar.cells.base import RecurrentCell


def gate_biases(initializer=None):
    """The initializer of a gate's bias that an argument means.

    Args:
        initializer: An initializer as Keras takes it. Default: `None`,
            `RandomUniform(-4, -1)`. A bias `b` lets a gate replace
            `sigmoid(b)` of the state at a step, so that these remember for 4
            to 55 steps, and as many for 5 as for 50. Made anew for every
            layer, as one initializer would draw the same for all of them.
    """
    if initializer is None:
        return keras.initializers.RandomUniform(-4.0, -1.0)
    return keras.initializers.get(initializer)


class LinearCell(RecurrentCell):
    """Base class of cells with `state = decay * state + drive`.

    `decay = 1 - z` and `drive = z * c` come from a gate `z` and a candidate
    `c` that read the step's operand alone. A subclass says what the operand
    and the candidate are. Layers over such a cell can compute all steps at
    once by an associative scan. `rectified` says whether the operand is never
    negative.

    Args:
        gate_bias_initializer: Initializer for the gate's bias, which sets
            how long the cell remembers before it is trained. Default: `None`,
            `keras.initializers.RandomUniform(-4, -1)`, for 4 to 55 steps,
            chosen by the experiments in `docs/gate_bias.md`.

    Call arguments:
        inputs: A 2D tensor, with shape `(batch, features)`.
        states: A list of one 2D tensor with shape `(batch, units)`, which is
            the state from the previous time step.
        training: Python boolean indicating whether the layer should behave in
            training mode or in inference mode. Only relevant when `dropout`
            is used.
    """

    rectified = False
    initializers = {"kernel": "glorot_uniform", "gate_bias": None}
    dropouts = ("dropout",)

    def __init__(self, units, *args, **kwargs):
        super().__init__(units, *args, **kwargs)
        self.gate_bias_initializer = gate_biases(self.gate_bias_initializer)

    def build(self, input_shape):
        super().build(input_shape)
        self.add_operand("x", self.input_dim, signed=not self.rectified)
        kernel_shape = (self.input_dim, self.units)
        self.gate_kernel = self.add_kernel("gate_kernel", kernel_shape)
        self.candidate_kernel = self.add_kernel(
            "candidate_kernel", kernel_shape
        )
        self.gate_bias = self.add_bias(
            "gate_bias", (self.units,), "gate_bias_initializer"
        )

    def operand(self, inputs, training=False):
        """The vector that the two kernels are multiplied with."""
        return self.rounded("x", self.drop_inputs(inputs, training))

    def candidate(self, operand):
        """The state that the cell moves toward."""
        raise NotImplementedError(
            f"{type(self).__name__} must implement `candidate()`."
        )

    def coefficients(self, operand):
        """`decay` and `drive` of one step, or of all steps at once."""
        sums = self.product("x", operand, self.gate_kernel)
        z = ops.sigmoid(sums + self.gate_bias)
        return 1 - z, z * self.candidate(operand)

    def update(self, operand, state, training=False):
        """The state after a step that reads `operand`."""
        decay, drive = self.coefficients(operand)
        return self.settled(decay * state + drive, training)

    def settled(self, state, training=False):
        """The state as it is kept, of one step or of all steps at once."""
        return state

    def step(self, inputs, states, training=False):
        operand = self.operand(inputs, training)
        state = self.update(operand, states[0], training)
        return state, [state], {"x": operand}
