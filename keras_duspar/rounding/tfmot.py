"""Quantizers of `tensorflow_model_optimization` in schemes of this package."""

import os

import keras

from keras_duspar.utils import backends
from keras_duspar.utils import checks
from keras_duspar.utils.optional import optional_package

PACKAGE = "tensorflow_model_optimization"
_SWITCH = "TF_USE_LEGACY_KERAS"


def load_tfmot():
    """Imports `tensorflow_model_optimization` without changing `tf.keras`.

    Imported by itself, the package makes `tf.keras` an older Keras for the
    rest of the process and for those that it starts.

    Returns:
        The module.

    Example:

    ```python
    tfmot = keras_duspar.quantization.load_tfmot()
    quantizers = tfmot.quantization.keras.quantizers
    weights = quantizers.LastValueQuantizer(
        num_bits=8, per_axis=True, symmetric=True, narrow_range=True)
    scheme = keras_duspar.QuantScheme(weights=weights, operands="float32")
    ```
    """
    tensorflow = optional_package("tensorflow", "qat")
    _ = tensorflow.keras.Model  # resolved now, once and for all
    before = os.environ.get(_SWITCH)
    try:
        return optional_package(PACKAGE, "qat")
    finally:
        os.environ.pop(_SWITCH, None)
        if before is not None:
            os.environ[_SWITCH] = before


def wrap(name, quantizer):
    """A `ForeignQuantizer` of what a scheme was given.

    Args:
        name: String, the argument of the scheme.
        quantizer: The object.
    """
    if isinstance(quantizer, ForeignQuantizer):
        return quantizer
    classes = type(quantizer).__mro__
    if not any(c.__module__.startswith(PACKAGE) for c in classes):
        raise checks.bad_value(
            name, f"a string or a quantizer of `{PACKAGE}`", quantizer
        )
    return ForeignQuantizer(quantizer)


@keras.saving.register_keras_serializable(package="keras_duspar")
class ForeignQuantizer:
    """A quantizer of `tensorflow_model_optimization` in a Keras 3 layer.

    Args:
        quantizer: The quantizer.
    """

    def __init__(self, quantizer):
        if not backends.is_tensorflow():
            raise ValueError(
                f"A quantizer of `{PACKAGE}` needs Keras' TensorFlow backend. "
                f"The backend is {keras.backend.backend()!r}."
            )
        self.quantizer = quantizer

    def build(self, shape, name, layer):
        """Adds the quantizer's weights to a layer; returns them by name."""
        weights = self.quantizer.build(tuple(shape), name, _AddWeight(layer))
        return dict(weights or {})

    def __call__(self, inputs, training, weights):
        import tensorflow as tf  # noqa: PLC0415

        values = {name: weight.value for name, weight in weights.items()}
        # A kernel may come as a variable still.
        inputs = tf.convert_to_tensor(inputs)
        return self.quantizer(inputs, training, weights=values)

    def __eq__(self, other):
        return (
            isinstance(other, ForeignQuantizer)
            and self.quantizer == other.quantizer
        )

    def __hash__(self):
        return hash(type(self.quantizer))

    def __str__(self):
        return type(self.quantizer).__name__

    def get_config(self):
        return {
            "class_name": type(self.quantizer).__name__,
            "arguments": self.quantizer.get_config(),
        }

    @classmethod
    def from_config(cls, config):
        quantizers = load_tfmot().quantization.keras.quantizers
        quantizer_class = getattr(quantizers, config["class_name"], None)
        if quantizer_class is None:
            raise ValueError(
                f"`{PACKAGE}` has no quantizer {config['class_name']!r}. "
                "Models with quantizers of your own cannot be loaded."
            )
        return cls(quantizer_class(**config["arguments"]))


class _AddWeight:
    """A Keras 3 layer with the interface that the package expects."""

    def __init__(self, layer):
        self._layer = layer

    def add_weight(self, name, shape=None, initializer=None, **kwargs):
        if isinstance(shape, int):
            shape = (shape,)
        return self._layer.add_weight(
            name=name.replace("/", "_"),
            shape=tuple(shape or ()),
            initializer=keras.initializers.Constant(
                float(initializer.get_config()["value"])
            ),
            trainable=False,
            autocast=False,
        )
