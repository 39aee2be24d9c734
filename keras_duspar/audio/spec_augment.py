"""Hiding parts of spectrograms while a model trains."""

import keras
from keras import ops

from keras_duspar.utils import checks
from keras_duspar.utils.configs import own_config


@keras.saving.register_keras_serializable(package="keras_duspar")
class SpecAugment(keras.layers.Layer):
    """Hides random bands and random stretches of time, in training only.

    Every example gets its own masks. A mask's width is uniform between 0
    and its maximum, but never more than half of what there is, so that
    something is left to learn from. The hidden values become zero, which is
    the mean of standardized features. In inference the layer is the identity.

    Args:
        max_bands: Positive integer, the largest number of neighboring bands
            that one mask hides. Default: 8.
        max_frames: Positive integer, the largest number of successive frames
            that one mask hides. Default: 8.
        band_masks: Integer of at least 0, masks over bands. Default: 1.
        frame_masks: Integer of at least 0, masks over frames. Default: 1.
        seed: Integer or `None`, seed of the masks. Default: `None`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: A 3D tensor, with shape `(batch, frames, bands)`.
        training: Boolean, whether to hide anything.

    Returns:
        A 3D tensor of the same shape.

    Example:

    >>> augment = keras_duspar.audio.SpecAugment(seed=1)
    >>> features = np.ones((1, 61, 64), "float32")
    >>> float(keras.ops.sum(augment(features))) == features.size
    True
    """

    def __init__(
        self,
        max_bands=8,
        max_frames=8,
        band_masks=1,
        frame_masks=1,
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.max_bands = checks.positive_integer("max_bands", max_bands)
        self.max_frames = checks.positive_integer("max_frames", max_frames)
        self.band_masks = _count("band_masks", band_masks)
        self.frame_masks = _count("frame_masks", frame_masks)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True

    def build(self, input_shape):
        checks.axes("inputs", input_shape, "(batch, frames, bands)", self)

    def call(self, inputs, training=False):
        if not training:
            return inputs
        batch, frames, bands = ops.shape(inputs)
        keep = ops.ones((batch, frames, bands), "bool")
        for _ in range(self.frame_masks):
            hidden = self._stretch(batch, frames, self.max_frames)
            keep = ops.logical_and(keep, ~ops.expand_dims(hidden, 2))
        for _ in range(self.band_masks):
            hidden = self._stretch(batch, bands, self.max_bands)
            keep = ops.logical_and(keep, ~ops.expand_dims(hidden, 1))
        return inputs * ops.cast(keep, inputs.dtype)

    def _stretch(self, batch, size, widest):
        """`True` over one random stretch of `size` positions, per example."""
        # Before the cast: JAX must know how many positions there are.
        position = ops.cast(ops.arange(size), "float32")
        size = ops.cast(size, "float32")
        widest = ops.minimum(float(widest), ops.floor(size / 2))
        # Float32 throughout: half precision cannot tell positions apart.
        draws = keras.random.uniform(
            (batch, 2), dtype="float32", seed=self.seed_generator
        )
        width = ops.floor(draws[:, :1] * (widest + 1))
        start = ops.floor(draws[:, 1:] * (size - width + 1))
        return ops.logical_and(position >= start, position < start + width)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {**super().get_config(), **own_config(self, SpecAugment)}


def _count(name, value):
    return 0 if value == 0 else checks.positive_integer(name, value)
