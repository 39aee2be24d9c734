"""How layers run in a stream: what a rule is, and the registry of rules."""

from dataclasses import dataclass
from dataclasses import field

import keras
from keras import ops

from keras_duspar.utils import checks

_RULES = {}


@dataclass(frozen=True)
class Signal:
    """How a tensor of the model flows in a stream.

    Args:
        kind: String. `"audio"`: samples, of shape `(batch, samples)`.
            `"frames"`: time steps, of shape `(batch, steps, features)`.
            `"summary"`: one value for everything up to now, of shape
            `(batch, features)`.
        steps: Integer, hops or time steps that one call brings, or `None` if
            that differs from call to call.
        most: Integer, hops or time steps that one call brings at most.
        delay: Integer, samples by which audio comes late.
        cut: Boolean, whether audio is as long as the audio that goes in.
        features: Integer, the size of the last axis.
        lead: Integer, time steps of zeros that `ZeroPadding1D` puts before
            the first one. They do not come in any call.
    """

    kind: str
    steps: int | None
    most: int
    delay: int = 0
    cut: bool = False
    features: int | None = field(default=None, compare=False)
    lead: int = 0


@dataclass(frozen=True)
class State:
    """What a rule keeps from one call to the next; it starts as zeros.

    Args:
        shape: Tuple of integers, `None` in the place of the batch size.
        dtype: String.
    """

    shape: tuple
    dtype: str = "float32"

    def zeros(self, batch_size):
        """The initial value for a batch."""
        shape = [batch_size if d is None else d for d in self.shape]
        return ops.zeros(shape, dtype=self.dtype)


class StreamRule:
    """Runs one call of a layer in a stream.

    This class is the rule of layers that treat every time step independently,
    such as `Dense`: the layer is called as it is. A layer that looks
    back in time needs a subclass, which sets `states` and `signal` in its
    constructor and overrides `step()`. It is registered by
    `keras_duspar.streaming.register_stream()`.

    Args:
        layer: The layer, which is built and must not be changed.
        signals: List of the `Signal`s of the tensors that it is called with.
    """

    # Whether samples may come in as they are, not in frames.
    takes_audio = False
    # Whether zeros may come before the first time step.
    takes_lead = False

    def __init__(self, layer, signals):
        self.layer = layer
        self.states = {}
        if len(set(signals)) != 1:
            raise self.error("joins inputs that do not arrive together")
        self.signal = signals[0]
        if self.signal.kind == "audio" and not self.takes_audio:
            raise self.error(
                "reads audio itself. Put `keras_duspar.audio.Frames` or "
                "`LogMel` before it"
            )
        if self.signal.lead and not self.takes_lead:
            raise self.error(
                "reads the zeros of a `ZeroPadding1D`, which must stand right "
                "before a convolution or a pool"
            )

    def step(self, states, *args, **kwargs):
        """Runs the layer on the new input.

        Args:
            states: Dictionary of tensors, as described by `states`.
            *args: Arguments of the layer.
            **kwargs: Arguments of the layer.

        Returns:
            The output and a dictionary of the new states.
        """
        return self.layer(*args, **kwargs), {}

    def error(self, reason):
        """The `ValueError` that names the layer."""
        return ValueError(
            f"`model` cannot be streamed: its layer {self.layer.name!r}, a "
            f"{type(self.layer).__name__}, {reason}."
        )


def register_stream(layer_class):
    """Decorator: registers how a custom layer runs in a stream.

    Args:
        layer_class: A subclass of `keras.layers.Layer`. The rule holds for
            its subclasses, too.

    Returns:
        A decorator for a subclass of `keras_duspar.streaming.StreamRule`.
        `StreamRule` itself is the rule of layers that treat every time step
        independently.

    Example:

    >>> class Double(keras.layers.Layer):
    ...     def call(self, x):
    ...         return 2 * x
    >>> rule = keras_duspar.streaming.register_stream(Double)(
    ...     keras_duspar.streaming.StreamRule)
    """
    if not isinstance(layer_class, type):
        raise checks.bad_value("layer_class", "a class", layer_class)

    def decorate(rule):
        if not (isinstance(rule, type) and issubclass(rule, StreamRule)):
            raise checks.bad_value("rule", "a subclass of `StreamRule`", rule)
        _RULES[layer_class] = rule
        return rule

    return decorate


def find_rule(layer, rules):
    """The rule class of a layer: one of `rules`, or the registered one."""
    for layer_class in type(layer).__mro__:
        for known in (rules, _RULES):
            if layer_class in known:
                return known[layer_class]
    if not isinstance(layer, keras.layers.Layer):
        if type(layer).__name__ in _ELEMENTWISE_OPERATIONS.split():
            return Elementwise
        raise ValueError(
            "`model` cannot be streamed: how the operation "
            f"{layer.name!r} ({type(layer).__name__}) of `keras.ops` treats "
            "time is not known. Use a layer in its place."
        )
    raise ValueError(
        f"`model` cannot be streamed: its layer {layer.name!r}, a "
        f"{type(layer).__name__}, is not known to run step by step. If it "
        "can, tell how by `keras_duspar.streaming.register_stream()`."
    )


class Elementwise(StreamRule):
    """Layers that treat every number independently, so they may read audio."""

    takes_audio = True


class LastAxis(StreamRule):
    """Layers that must work along the features, not along time."""

    def __init__(self, layer, signals):
        super().__init__(layer, signals)
        axes = keras.tree.flatten(layer.axis)
        if self.signal.kind == "frames" and axes not in ([-1], [2]):
            raise self.error(f"works along axis {layer.axis}, not the last one")


# Classes of operations are not public: these are their names.
_ELEMENTWISE_OPERATIONS = """
    Absolute Add Cast Clip Divide Elu Exp Expm1 Gelu HardSigmoid HardTanh
    Identity LeakyRelu Log Log1p Maximum Minimum Multiply Negative Power
    Reciprocal Relu Relu6 Selu Sigmoid Sign Silu Softplus Softsign Sqrt Square
    Subtract Tanh TrueDivide
    """

# Layers of Keras by their rule.
_KNOWN = {
    Elementwise: """
        Activation ActivityRegularization Add AlphaDropout Average Dropout ELU
        GaussianDropout GaussianNoise Identity LeakyReLU Maximum Minimum
        Multiply ReLU Rescaling Subtract
        """,
    LastAxis: """
        BatchNormalization Concatenate LayerNormalization Normalization
        RMSNormalization Softmax UnitNormalization
        """,
    StreamRule: "Dense SpatialDropout1D",
}
for _rule, _names in _KNOWN.items():
    for _name in _names.split():
        register_stream(getattr(keras.layers, _name))(_rule)
