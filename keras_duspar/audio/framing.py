"""Cutting audio into overlapping frames, and joining frames again."""

import keras
import numpy as np
from keras import ops

from keras_duspar.utils import checks
from keras_duspar.utils.configs import own_config


def hann(length):
    """The periodic Hann window: halves that overlap add up to exactly one."""
    n = np.arange(length)
    return (0.5 - 0.5 * np.cos(2 * np.pi * n / length)).astype("float32")


def cut(audio, frame_length, hop_length):
    """The frames that lie wholly within the audio.

    Slices are copied side by side: `ops.extract_sequences` is a convolution
    on some backends, and its gradient takes longer than a recurrent layer.

    Args:
        audio: A 2D tensor, with shape `(batch, samples)`.
        frame_length: Positive integer, samples in a frame.
        hop_length: Positive integer, samples from one frame to the next;
            must divide `frame_length`.

    Returns:
        A 3D tensor, with shape `(batch, frames, frame_length)`.
    """
    samples = audio.shape[1]
    if samples is None:
        samples = ops.shape(audio)[1]
    elif samples == frame_length:  # one frame, as in a stream
        return ops.expand_dims(audio, 1)
    hops = samples // hop_length
    parts = frame_length // hop_length
    chunks = ops.reshape(
        audio[:, : hops * hop_length],
        (ops.shape(audio)[0], hops, hop_length),
    )
    count = hops - parts + 1
    return ops.concatenate(
        [chunks[:, i : i + count] for i in range(parts)], axis=-1
    )


@keras.saving.register_keras_serializable(package="keras_duspar")
class Frames(keras.layers.Layer):
    """Cuts audio into overlapping frames.

    Args:
        frame_length: Positive integer, samples in a frame.
        hop_length: Positive integer, samples from one frame to the next;
            must divide `frame_length`.
        padding: String. `"valid"`: only frames that lie wholly within the
            audio. `"causal"`: silence goes before it, so that every
            `hop_length` new samples complete a frame, as they do in a
            stream. `"full"`: silence goes before and after it, so that every
            sample lies in equally many frames and `OverlapAdd` can restore
            all of it. Default: `"valid"`.
        sample_rate: Positive integer, samples per second, if it is known; the
            layer itself does not need it. Default: `None`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        audio: A 2D tensor, with shape `(batch, samples)`, of floats in
            `[-1, 1]`. Integers are an error, and so are values beyond 8,
            unless the layer is only being traced.
        mask: Optional boolean tensor of the same shape, `False` at padding
            behind the end of a recording. The frames that a recording cut
            off there would not have are masked.

    Returns:
        A 3D tensor, with shape `(batch, frames, frame_length)`.

    Example:

    >>> frames = keras_duspar.audio.Frames(4, 2)
    >>> cut = frames(np.arange(8, dtype="float32")[np.newaxis])
    >>> keras.ops.convert_to_numpy(cut)[0, 1].tolist()
    [2.0, 3.0, 4.0, 5.0]
    """

    def __init__(
        self,
        frame_length,
        hop_length,
        padding="valid",
        sample_rate=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.frame_length = checks.positive_integer(
            "frame_length", frame_length
        )
        self.hop_length = checks.positive_integer("hop_length", hop_length)
        if self.frame_length % self.hop_length:
            raise checks.bad_value(
                "hop_length",
                f"a divisor of `frame_length`, {frame_length}",
                hop_length,
            )
        self.padding = checks.choice(
            "padding", padding, ("valid", "causal", "full")
        )
        if sample_rate is not None:
            sample_rate = checks.positive_integer("sample_rate", sample_rate)
        self.sample_rate = sample_rate
        self.overlap = self.frame_length - self.hop_length
        self.supports_masking = True

    @property
    def steps_per_second(self):
        """Nominal number of frames per second, or `None` if it is unknown."""
        return self.sample_rate and self.sample_rate / self.hop_length

    def build(self, input_shape):
        checks.axes("audio", input_shape, "(batch, samples)", self)

    def call(self, audio):
        checks.audio("audio", audio)
        return self.cut(self.pad(audio))

    def compute_mask(self, audio, mask=None):
        if mask is None:
            return None
        valid = ops.cast(mask, "int32")
        if self.padding == "full":
            return ops.any(self.cut(self.pad(valid)) > 0, axis=-1)
        return ops.all(self.cut(self.pad(valid, 1)) > 0, axis=-1)

    def pad(self, audio, silence=0):
        """The audio with the silence that `padding` puts around it."""
        if self.padding == "valid" or (
            self.padding == "causal" and not self.overlap
        ):
            return audio
        after = 0
        if self.padding == "full":
            samples = ops.shape(audio)[1]
            after = self.overlap + -samples % self.hop_length
        return ops.pad(
            audio, [[0, 0], [self.overlap, after]], constant_values=silence
        )

    def cut(self, audio):
        """The frames that lie wholly within the audio."""
        samples = audio.shape[1]
        if samples is not None and samples < self.frame_length:
            before = 0 if self.padding == "valid" else self.overlap
            raise ValueError(
                f"`audio` of {type(self).__name__} must have samples for at "
                f"least one frame, {self.frame_length - before} with padding "
                f"{self.padding!r}. Received {samples - before} samples."
            )
        return cut(audio, self.frame_length, self.hop_length)

    def compute_output_shape(self, input_shape):
        batch, samples = input_shape
        if samples is None:
            return (batch, None, self.frame_length)
        if self.padding == "full":
            frames = -(-samples // self.hop_length)
            frames += self.overlap // self.hop_length
        elif self.padding == "causal":
            frames = samples // self.hop_length
        else:
            frames = (samples - self.overlap) // self.hop_length
        return (batch, frames, self.frame_length)

    def get_config(self):
        return {**super().get_config(), **own_config(self, Frames)}


@keras.saving.register_keras_serializable(package="keras_duspar")
class OverlapAdd(keras.layers.Layer):
    """Joins overlapping frames to audio under a Hann window.

    Undoes `Frames(frame_length, hop_length, padding="full")` exactly if the
    frames overlap by half.

    Args:
        hop_length: Positive integer, samples from one frame to the next;
            must divide the frames' length.
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        frames: A 3D tensor, with shape `(batch, frames, frame_length)`.
        like: Optional 2D tensor of shape `(batch, samples)`. The audio is
            made as long as it.

    Returns:
        A 2D tensor, with shape `(batch, samples)`, without the silence that
        `Frames` put around it.

    Example:

    >>> audio = np.random.random((1, 100)).astype("float32")
    >>> frames = keras_duspar.audio.Frames(32, 16, padding="full")(audio)
    >>> same = keras_duspar.audio.OverlapAdd(16)(frames, like=audio)
    >>> np.allclose(same, audio, atol=1e-6)
    True
    """

    def __init__(self, hop_length, **kwargs):
        super().__init__(**kwargs)
        self.hop_length = checks.positive_integer("hop_length", hop_length)

    def build(self, frames_shape, like_shape=None):
        form = "(batch, frames, samples)"
        checks.axes("frames", frames_shape, form, self, known=True)
        length = frames_shape[-1]
        if length % self.hop_length:
            raise checks.bad_value(
                "hop_length",
                f"a divisor of the frames' length, {length}",
                self.hop_length,
            )

    def call(self, frames, like=None):
        hop, length = self.hop_length, frames.shape[-1]
        count = ops.shape(frames)[1]
        hops = self.add(frames)
        audio = ops.reshape(hops, (-1, (count + length // hop - 1) * hop))
        audio = audio[:, length - hop :]
        if like is None:
            return audio[:, : (count - length // hop + 1) * hop]
        return audio[:, : ops.shape(like)[1]]

    def add(self, frames):
        """Sums of the windowed frames, of shape `(batch, hops, hop_length)`.

        They begin with the first frame and end with the last.
        """
        hop, length = self.hop_length, frames.shape[-1]
        parts = length // hop
        windowed = frames * ops.convert_to_tensor(hann(length), frames.dtype)
        if frames.shape[1] == 1:  # as in a stream
            return ops.reshape(windowed, (-1, parts, hop))
        # Part i of every frame is added i hops later.
        return sum(
            ops.pad(
                windowed[:, :, i * hop : (i + 1) * hop],
                [[0, 0], [i, parts - 1 - i], [0, 0]],
            )
            for i in range(parts)
        )

    def compute_output_shape(self, frames_shape, like_shape=None):
        batch, count, length = frames_shape
        if like_shape is not None:
            return (batch, like_shape[1])
        if count is None:
            return (batch, None)
        hop = self.hop_length
        return (batch, (count - length // hop + 1) * hop)

    def get_config(self):
        return {**super().get_config(), "hop_length": self.hop_length}
