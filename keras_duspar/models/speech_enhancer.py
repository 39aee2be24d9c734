"""Speech enhancement: clean speech from noisy speech, 2 ms later."""

import keras
import numpy as np

from keras_duspar.audio import Frames
from keras_duspar.audio import OverlapAdd
from keras_duspar.audio.framing import hann
from keras_duspar.models.stack import audio_input
from keras_duspar.models.stack import audio_model
from keras_duspar.models.stack import recurrent_layer
from keras_duspar.utils import checks
from keras_duspar.utils.audio_files import SAMPLE_RATE

# Brings speech at 30 dB below full scale to one.
GAIN = 32.0
# Of the mask's kernel, at the start; one would be Glorot's.
MASK_VARIANCE = 0.01


def speech_enhancer(
    recurrent="duspar",
    units=116,
    num_layers=4,
    frame_length=32,
    hop_length=16,
    mask_activation="sigmoid",
    mask_floor=0.0,
    options=None,
    samples=None,
    name="speech_enhancer",
):
    """The paper's speech enhancer, from noisy audio to clean audio.

    A linear encoder turns short frames of samples into features, recurrent
    layers and a dense layer estimate a mask for them, and a linear decoder
    turns the masked features into frames that are joined by Hann-windowed
    overlap-add. In between, audio is 30 dB louder than outside.

    The paper's parameter counts leave room for `4 * units` parameters more
    than its text names. Two layer normalizations, one of the features that
    enter the recurrent layers and one before the mask's dense layer, fit both
    of its counts; that is our reading, not the paper's word. So is the
    sigmoid of the mask.

    The initial weights make the model return its input, which is our choice,
    too: the encoder as a short-time Fourier transform under the square root
    of a Hann window, the mask almost constant, and the decoder as what undoes
    both. Training then starts from the scores of the noisy speech and need
    not find a way to pass speech on first. That takes at least
    `frame_length` units and frames that overlap by half; with fewer units
    the model begins with the nearest that it can do.

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
        mask_floor: Float in `[0, 1)`, the least that a mask leaves of a
            feature: the mask `m` becomes `mask_floor + (1 - mask_floor) * m`.
            Less noise is removed, and less speech with it where the noise is
            unknown. Default: 0, as in the paper.
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
    mask_floor = checks.number("mask_floor", mask_floor, "[0, 1)")
    audio = audio_input(samples)
    frames = Frames(
        frame_length, hop_length, "full", SAMPLE_RATE, name="frames"
    )(audio)
    # Speech of a usual level is far below one, where the steps of an optimizer
    # like Adam would make biases louder than it.
    frames = keras.layers.Rescaling(GAIN, name="amplified")(frames)
    features = keras.layers.Dense(units, name="encoder")(frames)
    # Frames whose features are weaker than this stay weak, so that the
    # recurrent layers can tell noise between words from words.
    x = keras.layers.LayerNormalization(epsilon=1e-2, name="encoder_norm")(
        features
    )
    for i in range(num_layers):
        x = recurrent_layer(recurrent, units, options, f"recurrent_{i + 1}")(x)
    x = keras.layers.LayerNormalization(name="mask_norm")(x)
    mask = keras.layers.Dense(
        units,
        activation=mask_activation,
        kernel_initializer=keras.initializers.VarianceScaling(
            MASK_VARIANCE, "fan_avg", "uniform"
        ),
        bias_initializer="ones",
        name="mask",
    )(x)
    if mask_floor:
        mask = keras.layers.Rescaling(
            1 - mask_floor, mask_floor, name="mask_floor"
        )(mask)
    masked = keras.layers.Multiply(name="masked")([features, mask])
    decoded = keras.layers.Dense(frame_length, name="decoder")(masked)
    decoded = keras.layers.Rescaling(1 / GAIN, name="attenuated")(decoded)
    clean = OverlapAdd(hop_length, name="overlap_add", dtype="float32")(
        decoded, like=audio
    )
    model = audio_model(audio, clean, name, "se")
    _begin_as_identity(model, hop_length, mask_floor)
    return model


def _begin_as_identity(model, hop_length, mask_floor):
    """Sets encoder and decoder so that the model returns its input."""
    encoder, mask, decoder = (
        model.get_layer(name) for name in ("encoder", "mask", "decoder")
    )
    kernel = fourier_kernel(*encoder.kernel.shape)
    # What is left of a signal by the mask at its start and by overlap-add.
    level = mask.activation(keras.ops.ones(()))
    level = float(keras.ops.convert_to_numpy(level))
    level = mask_floor + (1 - mask_floor) * level or 1.0
    level *= kernel.shape[0] / (2 * hop_length)
    encoder.kernel.assign(kernel)
    decoder.kernel.assign(np.linalg.pinv(kernel) / level)


def fourier_kernel(frame_length, units):
    """A short-time Fourier transform as a matrix.

    Real and imaginary parts alternate, at `units / 2` frequencies that are
    spread evenly up to half of the sample rate, under the square root of a
    Hann window. Every other pair is negated: the recurrent layers read
    positive values alone, and so see both halves of every wave.

    Returns:
        An array of shape `(frame_length, units)`.
    """
    index = np.arange(units)
    count = (units + 1) // 2
    frequency = np.pi * (index // 2 + 0.5) / count
    phase = np.pi / 2 * (index % 4)
    time = np.arange(frame_length) - (frame_length - 1) / 2
    waves = np.cos(np.outer(time, frequency) - phase) / np.sqrt(count)
    return np.sqrt(hann(frame_length))[:, np.newaxis] * waves
