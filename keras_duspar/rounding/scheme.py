"""What is rounded in a quantized model, and to how many bits."""

import dataclasses
import re

import keras

from keras_duspar.utils import checks

FLOAT = "float32"
OPERANDS = (FLOAT, "uint7", "uint8")
STATES = (FLOAT, "int16", "int8")


@keras.saving.register_keras_serializable(package="keras_duspar")
@dataclasses.dataclass(frozen=True)
class QuantScheme:
    """What is rounded in a quantized model, and to how many bits.

    Args:
        weights: String, the type of the kernels: `"int8"`, or any from
            `"int2"` up, symmetric with one scale per output channel;
            `"bfloat16"`; or `"float32"`. Or a quantizer of
            `tensorflow_model_optimization`, on the TensorFlow backend.
            Default: `"int8"`.
        operands: String, the type of the vectors that recurrent layers
            multiply with their kernels: `"uint7"` or `"uint8"`, with one
            scale for each vector, or `"float32"`. Zero stays zero. Vectors
            that are not rectified get a sign besides as many bits, less one
            of `"uint8"`. Or a quantizer as in `weights`. Default:
            `"uint8"`.
        states: String, the type of the states between two steps: `"int16"`
            or `"int8"`, symmetric with one scale per state, or
            `"float32"`. Default: `"float32"`.
        momentum: Float in `[0, 1)`. How much of a range of operands or
            states stays at a training step; the rest comes from the largest
            value in the batch. Default: 0.98.

    Example:

    >>> scheme = keras_duspar.QuantScheme(weights="int8", operands="uint7")
    >>> scheme.weight_levels, scheme.operand_levels
    (127, 127)
    """

    weights: object = "int8"
    operands: object = "uint8"
    states: str = FLOAT
    momentum: float = 0.98

    def __post_init__(self):
        # As a configuration holds them.
        for name in ("weights", "operands"):
            value = getattr(self, name)
            if isinstance(value, dict):
                value = keras.saving.deserialize_keras_object(value)
            elif not isinstance(value, str):
                from keras_duspar.rounding import tfmot  # noqa: PLC0415

                value = tfmot.wrap(name, value)
            object.__setattr__(self, name, value)
        if isinstance(self.weights, str) and not (
            self.weights in (FLOAT, "bfloat16")
            or re.fullmatch("int[2-8]", self.weights)
        ):
            raise checks.bad_value(
                "weights",
                '"float32", "bfloat16", "int8" or another from "int2" up, or a '
                "quantizer",
                self.weights,
            )
        if isinstance(self.operands, str):
            checks.choice("operands", self.operands, OPERANDS)
        checks.choice("states", self.states, STATES)
        checks.number("momentum", self.momentum, "[0, 1)")
        if self.operand_levels and self.weights in (FLOAT, "bfloat16"):
            raise checks.bad_value(
                "operands",
                f'"float32" with `weights="{self.weights}"`',
                self.operands,
                "Sums of integers need integer weights.",
            )

    @property
    def weight_levels(self):
        """The largest integer of a kernel, or `None` if there is none."""
        if self.weights in (FLOAT, "bfloat16") or self.foreign_weights:
            return None
        return 2 ** (int(self.weights[3:]) - 1) - 1

    @property
    def operand_levels(self):
        """The largest integer of a rectified operand, or `None`."""
        if self.operands == FLOAT or self.foreign_operands:
            return None
        return 2 ** int(self.operands[4:]) - 1

    @property
    def state_levels(self):
        """The largest integer of a state, or `None`."""
        return {FLOAT: None, "int16": 32767, "int8": 127}[self.states]

    @property
    def foreign_weights(self):
        """Whether another package's quantizer rounds the kernels."""
        return not isinstance(self.weights, str)

    @property
    def foreign_operands(self):
        """Whether another package's quantizer rounds the operands."""
        return not isinstance(self.operands, str)

    def get_config(self):
        return {
            field.name: keras.saving.serialize_keras_object(
                getattr(self, field.name)
            )
            for field in dataclasses.fields(self)
        }

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def __str__(self):
        parts = [f"{self.weights} weights", f"{self.operands} operands"]
        if self.states != FLOAT:
            parts.append(f"{self.states} states")
        return ", ".join(parts)


SCHEMES = {
    "int8": QuantScheme(),
    "int4w": QuantScheme(weights="int4", operands=FLOAT),
    "bfloat16": QuantScheme(weights="bfloat16", operands=FLOAT),
}


def get(scheme):
    """The `QuantScheme` that is meant, or `None` for `None`.

    Args:
        scheme: A `QuantScheme`, its configuration, the name of one of
            `SCHEMES`, or `None`.
    """
    if isinstance(scheme, dict):
        scheme = keras.saving.deserialize_keras_object(scheme)
    if scheme is None or isinstance(scheme, QuantScheme):
        return scheme
    if not isinstance(scheme, str) or scheme not in SCHEMES:
        listed = ", ".join(f'"{name}"' for name in SCHEMES)
        raise checks.bad_value(
            "scheme", f"a `QuantScheme` or one of {listed}", scheme
        )
    return SCHEMES[scheme]
