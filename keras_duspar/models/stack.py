"""What the three models share."""

import keras

from keras_duspar import layers
from keras_duspar.utils import checks


@keras.saving.register_keras_serializable(package="keras_duspar")
class AudioModel(keras.Model):
    """A functional model that takes audio and refuses integers.

    Keras converts what a functional model is given to the dtype of its
    `Input` before any layer sees it, so that 16-bit samples would become
    floats far beyond full scale. A model sees them itself, also in
    `predict()` and `fit()`.
    """

    def call(self, inputs, training=None, mask=None, **kwargs):
        for audio in keras.tree.flatten(inputs):
            if hasattr(audio, "dtype"):
                checks.audio("inputs", audio)
        return super().call(inputs, training=training, mask=mask, **kwargs)


def recurrent_layer(recurrent, units, options, name):
    """One recurrent layer of a model.

    Args:
        recurrent: String, a registered name, or a layer class.
        units: Positive integer, the layer's width.
        options: Dictionary of further arguments of the layer, or `None`.
        name: String, the layer's name.
    """
    layer_class = layers.get(recurrent)
    units = checks.positive_integer("units", units)
    if options is not None and not isinstance(options, dict):
        raise checks.bad_value("options", "a dictionary or None", options)
    return layer_class(
        units, **(options or {}), return_sequences=True, name=name
    )


def audio_input(samples):
    """The input of a model that takes raw audio."""
    if samples is not None:
        samples = checks.positive_integer("samples", samples)
    return keras.Input((samples,), name="audio", dtype="float32")
