"""Fewer time steps for the layers after it."""

import keras
from keras import ops

from keras_duspar.utils import checks


@keras.saving.register_keras_serializable(package="keras_duspar")
class TemporalPooling(keras.layers.Layer):
    """Averages every `pool_size` time steps to one.

    Steps left over at the end are dropped, as a stream would still wait for
    the rest of their group. Unlike `keras.layers.AveragePooling1D` the layer
    passes a mask on: a group is valid if all of its steps are.

    Args:
        pool_size: Positive integer, number of steps in a group. Default: 4.
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: A 3D tensor, with shape `(batch, timesteps, features)`.
        mask: Optional boolean tensor of shape `(batch, timesteps)`.

    Returns:
        A 3D tensor, with shape `(batch, timesteps // pool_size, features)`.

    Example:

    >>> pooling = keras_duspar.audio.TemporalPooling(4)
    >>> tuple(pooling(np.ones((1, 63, 8), "float32")).shape)
    (1, 15, 8)
    """

    def __init__(self, pool_size=4, **kwargs):
        super().__init__(**kwargs)
        self.pool_size = checks.positive_integer("pool_size", pool_size)
        self.supports_masking = True

    @property
    def strides(self):
        """Number of steps that make one, as in Keras' pooling layers."""
        return self.pool_size

    def build(self, input_shape):
        form = "(batch, timesteps, features)"
        checks.axes("inputs", input_shape, form, self)

    def call(self, inputs):
        if inputs.shape[1] is not None and inputs.shape[1] < self.pool_size:
            raise ValueError(
                f"`inputs` of {type(self).__name__} must have at least "
                f"`pool_size`, {self.pool_size}, time steps. Received shape: "
                f"{tuple(inputs.shape)}. Is the audio too short?"
            )
        return self.average(inputs)

    def average(self, inputs):
        """The average of each whole group, of which there may be none."""
        return ops.mean(self._group(inputs), axis=2)

    def compute_mask(self, inputs, mask=None):
        if mask is None:
            return None
        return ops.all(self._group(ops.expand_dims(mask, -1))[..., 0], axis=2)

    def _group(self, inputs):
        batch, steps, features = ops.shape(inputs)
        groups = steps // self.pool_size
        return ops.reshape(
            inputs[:, : groups * self.pool_size],
            (batch, groups, self.pool_size, features),
        )

    def compute_output_shape(self, input_shape):
        batch, steps, features = input_shape
        return (batch, steps and steps // self.pool_size, features)

    def get_config(self):
        return {**super().get_config(), "pool_size": self.pool_size}
