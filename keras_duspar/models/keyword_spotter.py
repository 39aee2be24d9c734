"""Keyword spotting: which word is spoken in a short recording."""

import keras

from keras_duspar.audio import LogMel
from keras_duspar.models.stack import audio_input
from keras_duspar.models.stack import audio_model
from keras_duspar.models.stack import count_classes
from keras_duspar.models.stack import recurrent_layer
from keras_duspar.utils import checks


def keyword_spotter(
    recurrent="duspar",
    units=128,
    num_classes=None,
    num_layers=2,
    options=None,
    samples=None,
    name="keyword_spotter",
    labels=None,
):
    """The paper's keyword spotter, from raw audio to class scores.

    Log-mel front end, recurrent layers, and a linear classifier on every
    frame whose scores are averaged over time.

    Args:
        recurrent: String, name of a registered recurrent layer, or a
            subclass of `keras.layers.RNN`. Default: `"duspar"`.
        units: Positive integer, width of the recurrent layers. Default: 128.
        num_classes: Positive integer, number of words. Default: `None`, as
            many as `labels`, or 35.
        num_layers: Positive integer, number of recurrent layers. Default: 2.
        options: Dictionary of further arguments of the recurrent layers, such
            as `{"theta": 0.02}`. Default: `None`.
        samples: Positive integer, the fixed length of the audio, or `None`
            for any length. Default: `None`.
        name: String, the model's name.
        labels: List of strings, the words, which are saved with the model.
            Default: `None`.

    Returns:
        A `keras.Model` that takes 16 kHz audio of shape `(batch, samples)`
        and returns logits of shape `(batch, num_classes)`. Before training,
        call `model.get_layer("log_mel").adapt(audio)`.

    Example:

    >>> model = keras_duspar.models.keyword_spotter("duspar", 128)
    >>> tuple(model(np.zeros((1, 16000), "float32")).shape)
    (1, 35)
    """
    num_classes = count_classes("num_classes", num_classes, labels, 35)
    num_layers = checks.positive_integer("num_layers", num_layers)
    audio = audio_input(samples)
    x = LogMel(padding="causal", name="log_mel")(audio)
    for i in range(num_layers):
        x = recurrent_layer(recurrent, units, options, f"recurrent_{i + 1}")(x)
    x = keras.layers.Dense(num_classes, name="classifier")(x)
    logits = keras.layers.GlobalAveragePooling1D(
        name="logits", dtype="float32"
    )(x)
    return audio_model(audio, logits, name, "kws", labels)
