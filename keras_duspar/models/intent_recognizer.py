"""Spoken language understanding: what a spoken command asks for."""

import keras

from keras_duspar.audio import LogMel
from keras_duspar.audio import TemporalPooling
from keras_duspar.models.stack import audio_input
from keras_duspar.models.stack import audio_model
from keras_duspar.models.stack import count_classes
from keras_duspar.models.stack import recurrent_layer
from keras_duspar.utils import checks


def intent_recognizer(
    recurrent="duspar",
    units=128,
    num_intents=None,
    num_layers=2,
    pool_size=4,
    options=None,
    samples=None,
    name="intent_recognizer",
    labels=None,
):
    """The paper's intent recognizer, from raw audio to scores for CTC.

    Log-mel front end, and recurrent layers that are each followed by an
    average over `pool_size` frames, then a linear classifier.

    Args:
        recurrent: String, name of a registered recurrent layer, or a
            subclass of `keras.layers.RNN`. Default: `"duspar"`.
        units: Positive integer, width of the recurrent layers. Default: 128.
        num_intents: Positive integer, number of intents. Default: `None`, as
            many as `labels`, or 31.
        num_layers: Positive integer, number of recurrent layers. Default: 2.
        pool_size: Positive integer, number of frames that a pooling layer
            averages to one. Default: 4.
        options: Dictionary of further arguments of the recurrent layers, such
            as `{"theta": 0.02}`. Default: `None`.
        samples: Positive integer, the fixed length of the audio, or `None`
            for any length. Default: `None`.
        name: String, the model's name.
        labels: List of strings, the intents without the blank, which are
            saved with the model. Default: `None`.

    Returns:
        A `keras.Model` that takes 16 kHz audio of shape `(batch, samples)`
        and returns logits of shape `(batch, groups, num_intents + 1)`, one
        group for every `pool_size ** num_layers` frames. The last class is
        the blank of CTC. Before training, call
        `model.get_layer("log_mel").adapt(audio)`.

    Example:

    >>> model = keras_duspar.models.intent_recognizer("duspar", 128)
    >>> tuple(model(np.zeros((1, 32000), "float32")).shape)
    (1, 7, 32)
    """
    num_intents = count_classes("num_intents", num_intents, labels, 31)
    num_layers = checks.positive_integer("num_layers", num_layers)
    audio = audio_input(samples)
    x = LogMel(padding="causal", name="log_mel")(audio)
    for i in range(num_layers):
        x = recurrent_layer(recurrent, units, options, f"recurrent_{i + 1}")(x)
        x = TemporalPooling(pool_size, name=f"pooling_{i + 1}")(x)
    logits = keras.layers.Dense(
        num_intents + 1, name="classifier", dtype="float32"
    )(x)
    return audio_model(audio, logits, name, "slu", labels)


def group_samples(model):
    """Samples of audio in a group of frames of an intent recognizer.

    The model drops a group that is not full. That many samples of silence
    behind a recording, less one, ensure that its end is processed.

    Args:
        model: A model of `intent_recognizer()`.

    Returns:
        An integer.

    Example:

    >>> model = keras_duspar.models.intent_recognizer("duspar", 8)
    >>> keras_duspar.models.group_samples(model)
    4096
    """
    samples = 2**40  # so many that a group that is not full does not count
    return samples // model.compute_output_shape((1, samples))[1]
