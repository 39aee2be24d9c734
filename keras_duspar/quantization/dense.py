"""Dense layers with rounded kernels."""

import keras
from keras import ops

from keras_duspar.rounding import scheme
from keras_duspar.rounding.quantizer import Quantizer
from keras_duspar.utils.configs import own_config


@keras.saving.register_keras_serializable(package="keras_duspar")
class QuantizedDense(keras.layers.Dense):
    """`keras.layers.Dense` with a rounded kernel and inputs as they are.

    `keras_duspar.quantize()` replaces `keras.layers.Dense` by it.

    Args:
        *args: Arguments of `keras.layers.Dense`.
        quantization: A `keras_duspar.QuantScheme` or the name of one.
            Default: `"int8"`.
        **kwargs: Arguments of `keras.layers.Dense`.

    Example:

    >>> dense = keras_duspar.quantization.QuantizedDense(3)
    >>> tuple(dense(np.ones((2, 4), "float32")).shape)
    (2, 3)
    """

    def __init__(self, *args, quantization="int8", **kwargs):
        super().__init__(*args, **kwargs)
        self.quantization = scheme.get(quantization)
        self.quantizer = None

    def build(self, input_shape):
        self.quantizer = Quantizer(self.quantization, name="quantizer")
        super().build(input_shape)
        self.quantizer.add_kernel(self.kernel)

    @property
    def kernels(self):
        """The weights that are rounded."""
        return [self.kernel]

    def rounded_kernel(self, training=False):
        """The kernel that inputs are multiplied with."""
        with self.quantizer.prepared([], training):
            return self.quantizer.rounded_kernel(self.kernel)

    def call(self, inputs, training=None):
        kernel = self.rounded_kernel(bool(training))
        x = ops.matmul(inputs, ops.cast(kernel, inputs.dtype))
        if self.bias is not None:
            x = x + self.bias
        return x if self.activation is None else self.activation(x)

    def get_config(self):
        return {**super().get_config(), **own_config(self, QuantizedDense)}
