"""The log-mel front end as one operator of a `.tflite` file.

Files with sparse operators need the delegate anyway, and built-in operators
would take longer for the front end than the recurrent layers take.
"""

import numpy as np

from keras_duspar.audio import LogMel

# Samples in a frame: powers of two within the limits of `log_mel.h`.
SHORTEST, LONGEST = 32, 32768


def can_be_operator(layer):
    """Whether the library computes what the layer does."""
    smallest = float(np.finfo("float32").tiny)
    return (
        isinstance(layer, LogMel)
        and SHORTEST <= layer.frames.frame_length <= LONGEST
        and layer.frames.frame_length.bit_count() == 1
        and layer.offset >= smallest
    )


def constants(layer):
    """What the operator takes beside the audio, as arrays.

    The window; the filters, of each the bins from its first to its last that
    is not zero; these bins, as `(first, behind the last)`; mean and deviation
    of the bands; the offset.

    Args:
        layer: The `LogMel` layer, built.
    """
    used = layer.filters != 0
    some = used.any(axis=0)
    bins = len(used)
    first = np.where(some, used.argmax(axis=0), 0)
    behind = np.where(some, bins - used[::-1].argmax(axis=0), 0)
    columns = [
        layer.filters[start:end, band]
        for band, (start, end) in enumerate(zip(first, behind))
    ]
    return [
        layer.window.astype("float32"),
        np.concatenate(columns).astype("float32"),
        np.stack([first, behind], axis=1).astype("int32"),
        np.array(layer.mean, "float32"),
        np.array(layer.std, "float32"),
        np.array([layer.offset], "float32"),
    ]


def compute(layer, audio, window, filters, edges, mean, deviation, offset):
    """What the operator computes, in TensorFlow.

    Args:
        layer: The `LogMel` layer.
        audio: Tensor of shape `(batch, samples)`.
        window: As the others, a tensor of what `constants()` returns.
    """
    import tensorflow as tf  # noqa: PLC0415

    bins = tf.ragged.range(edges[:, 0], edges[:, 1])
    bands = tf.cast(bins.value_rowids(), tf.int32)
    places = tf.stack([bins.flat_values, bands], axis=1)
    matrix = tf.scatter_nd(places, filters, layer.filters.shape)
    spectrum = tf.signal.rfft(layer.frames.cut(audio) * window)
    power = tf.matmul(tf.abs(spectrum) ** 2, matrix)
    return (tf.math.log(power + offset) - mean) / deviation
