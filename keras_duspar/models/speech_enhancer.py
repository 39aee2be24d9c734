"""Speech enhancement: clean speech from noisy speech, 2 ms later."""

import keras

from keras_duspar import checks
from keras_duspar.audio import Frames
from keras_duspar.audio import OverlapAdd
from keras_duspar.models.stack import SAMPLE_RATE
from keras_duspar.models.stack import audio_input
from keras_duspar.models.stack import recurrent_layer


def speech_enhancer(
    recurrent="duspar",
    units=116,
    num_layers=4,
    frame_length=32,
    hop_length=16,
    mask_activation="sigmoid",
    options=None,
    samples=None,
    name="speech_enhancer",
):
    """The paper's speech enhancer, from noisy audio to clean audio.

    A linear encoder turns short frames of samples into features, recurrent
    layers and a dense layer estimate a mask for them, and a linear decoder
    turns the masked features into frames that are joined by Hann-windowed
    overlap-add.

    The paper's parameter counts leave room for `4 * units` parameters more
    than its text names. Two layer normalisations, one of the features that
    enter the recurrent layers and one before the mask's dense layer, fit both
    of its counts; that is our reading, not the paper's word. So is the
    sigmoid of the mask.

    Args:
        recurrent: String, name of a registered recurrent layer, or a
            subclass of `keras.layers.RNN`. Default: `"duspar"`.
        units: Positive integer, number of features and width of the recurrent
            layers. Default: 116.
        num_layers: Positive integer, number of recurrent layers. Default: 4.
        frame_length: Positive integer, samples in a frame. Default: 32.
        hop_length: Positive integer, samples from one frame to the next; must
            divide `frame_length`. Default: 16.
        mask_activation: Activation of the mask. Default: `"sigmoid"`.
        options: Dictionary of further arguments of the recurrent layers, such
            as `{"theta": 0.02}`. Default: `None`.
        samples: Positive integer, the fixed length of the audio, or `None`
            for any length. Default: `None`.
        name: String, the model's name.

    Returns:
        A `keras.Model` that takes 16 kHz audio of shape `(batch, samples)`
        and returns audio of the same shape.

    Example:

    >>> model = keras_duspar.models.speech_enhancer("duspar", 116)
    >>> tuple(model(np.zeros((1, 1600), "float32")).shape)
    (1, 1600)
    """
    units = checks.positive_integer("units", units)
    num_layers = checks.positive_integer("num_layers", num_layers)
    audio = audio_input(samples)
    frames = Frames(
        frame_length, hop_length, "full", SAMPLE_RATE, name="frames"
    )(audio)
    features = keras.layers.Dense(units, name="encoder")(frames)
    x = keras.layers.LayerNormalization(name="encoder_norm")(features)
    for i in range(num_layers):
        x = recurrent_layer(recurrent, units, options, f"recurrent_{i + 1}")(x)
    x = keras.layers.LayerNormalization(name="mask_norm")(x)
    mask = keras.layers.Dense(units, activation=mask_activation, name="mask")(x)
    masked = keras.layers.Multiply(name="masked")([features, mask])
    decoded = keras.layers.Dense(frame_length, name="decoder")(masked)
    clean = OverlapAdd(hop_length, name="overlap_add", dtype="float32")(
        decoded, like=audio
    )
    return keras.Model(audio, clean, name=name)
