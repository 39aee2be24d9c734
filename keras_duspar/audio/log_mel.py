"""Log-mel spectrogram of raw audio, standardized inside the model."""

import keras
import numpy as np
from keras import ops

from keras_duspar.audio.framing import Frames
from keras_duspar.audio.framing import hann
from keras_duspar.rounding import scheme
from keras_duspar.rounding.arithmetic import round_constant
from keras_duspar.utils import checks
from keras_duspar.utils.audio_files import SAMPLE_RATE
from keras_duspar.utils.configs import own_config


def mel_filters(sample_rate, fft_length, bands, low_hz, high_hz):
    """Triangular filters that are evenly spaced on Slaney's mel scale.

    The scale is linear up to 1 kHz and logarithmic above; every triangle has
    unit area, as in librosa's default.

    Args:
        sample_rate: Positive integer, samples per second.
        fft_length: Positive integer, length of the Fourier transform.
        bands: Positive integer, number of triangles.
        low_hz: Float, lower edge of the first triangle.
        high_hz: Float, upper edge of the last triangle.

    Returns:
        An array of shape `(fft_length // 2 + 1, bands)`.
    """
    linear_hz, linear_mels = 1000.0, 15.0
    step = np.log(6.4) / 27

    def to_mel(hz):
        if hz < linear_hz:
            return hz * linear_mels / linear_hz
        return linear_mels + np.log(hz / linear_hz) / step

    mels = np.linspace(to_mel(low_hz), to_mel(high_hz), bands + 2)
    edges = np.where(
        mels < linear_mels,
        mels * linear_hz / linear_mels,
        linear_hz * np.exp(step * (mels - linear_mels)),
    )
    bins = np.arange(fft_length // 2 + 1)[:, np.newaxis]
    hz = bins * sample_rate / fft_length
    left, center, right = edges[:-2], edges[1:-1], edges[2:]
    rising = (hz - left) / (center - left)
    falling = (right - hz) / (right - center)
    triangles = np.maximum(0, np.minimum(rising, falling))
    return (triangles * 2 / (right - left)).astype("float32")


@keras.saving.register_keras_serializable(package="keras_duspar")
class LogMel(keras.layers.Layer):
    """Standardized log-mel spectrogram of raw audio.

    Frames under a periodic Hann window, power spectrum, triangular bands on
    Slaney's mel scale, `log(power + offset)`, then standardization by the
    statistics that `adapt()` has stored. The layer computes in float32 under
    any global dtype policy. Before `adapt()` the output equals, up to
    rounding,

    ```
    np.log(librosa.feature.melspectrogram(
        y=audio, sr=16000, n_fft=512, hop_length=256, center=False,
        n_mels=64, fmin=50, fmax=8000) + 1e-6).T
    ```

    Args:
        bands: Positive integer, number of mel bands. Default: 64.
        sample_rate: Positive integer, samples per second. Default: 16000.
        frame_length: Positive integer, samples in a frame and length of the
            Fourier transform. Default: 512, which is 32 ms.
        hop_length: Positive integer, samples from one frame to the next;
            must divide `frame_length`. Default: 256, which is 16 ms.
        low_hz: Float, lower edge of the lowest band. Default: 50.
        high_hz: Float, upper edge of the highest band, at most half of
            `sample_rate`. Default: 8000.
        offset: Float, positive, added to the power before the logarithm.
            Default: 1e-6.
        padding: String, `"valid"` or `"causal"`, see
            `keras_duspar.audio.Frames`. Default: `"valid"`.
        quantization: A `keras_duspar.QuantScheme` or the name of one: how the
            filters are rounded, to not less than 8 bits.
            `keras_duspar.quantize()` sets it. Default: `None`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        audio: A 2D tensor, with shape `(batch, samples)`, of floats in
            `[-1, 1]`. Integers are an error, and so are values beyond 8,
            unless the layer is only being traced.
        mask: Optional boolean tensor of the same shape, `False` at padding
            behind the end of a recording.

    Returns:
        A 3D tensor, with shape `(batch, frames, bands)`.

    Example:

    >>> log_mel = keras_duspar.audio.LogMel()
    >>> tuple(log_mel(np.zeros((1, 16000), "float32")).shape)
    (1, 61, 64)
    """

    def __init__(
        self,
        bands=64,
        sample_rate=SAMPLE_RATE,
        frame_length=512,
        hop_length=256,
        low_hz=50.0,
        high_hz=8000.0,
        offset=1e-6,
        padding="valid",
        quantization=None,
        **kwargs,
    ):
        # Half precision has too little range for a power spectrum.
        kwargs["dtype"] = "float32"
        super().__init__(**kwargs)
        self.bands = checks.positive_integer("bands", bands)
        self.sample_rate = checks.positive_integer("sample_rate", sample_rate)
        self.padding = checks.choice("padding", padding, ("valid", "causal"))
        self.frames = Frames(
            frame_length,
            hop_length,
            padding,
            self.sample_rate,
            dtype="float32",
            name="frames",
        )
        self.frame_length = self.frames.frame_length
        self.hop_length = self.frames.hop_length
        half = self.sample_rate / 2
        self.high_hz = checks.number("high_hz", high_hz, f"(0, {half:g}]")
        self.low_hz = checks.number("low_hz", low_hz, f"[0, {high_hz:g})")
        self.offset = checks.number("offset", offset, "(0, inf)")
        self.supports_masking = True
        self.window = hann(frame_length)
        self.filters = mel_filters(
            self.sample_rate, frame_length, self.bands, low_hz, high_hz
        )
        self.quantization = scheme.get(quantization)
        if self.quantization is not None:
            self.filters = round_constant(self.filters, self.quantization)

    @property
    def steps_per_second(self):
        """Nominal number of frames per second."""
        return self.frames.steps_per_second

    def build(self, input_shape):
        self.frames.build(input_shape)
        self.mean, self.std = (
            self.add_weight((self.bands,), initial, trainable=False, name=name)
            for name, initial in (("mean", "zeros"), ("std", "ones"))
        )

    def call(self, audio):
        checks.audio("audio", audio)
        return self.features(self.frames.pad(audio))

    def features(self, audio):
        """Features of all frames that lie wholly within the audio."""
        return self.standardize(self.log_power(self.frames.cut(audio)))

    def log_power(self, frames):
        """The logarithm of every band's power, not standardized."""
        real, imag = ops.rfft(frames * self.window)
        power = ops.square(real) + ops.square(imag)
        return ops.log(ops.matmul(power, self.filters) + self.offset)

    def standardize(self, log_power):
        """Subtracts the mean and divides by the deviation of every band."""
        return (log_power - self.mean) / self.std

    def compute_mask(self, audio, mask=None):
        return self.frames.compute_mask(audio, mask)

    def adapt(self, data):
        """Stores the mean and the standard deviation of every band.

        The statistics are weights that are not trained: they are saved with
        the model.

        Args:
            data: Array of shape `(batch, samples)`, or an iterable, such as a
                `tf.data.Dataset` or a list, of arrays of that shape or of
                single recordings of shape `(samples,)`, which may differ in
                length.
        """
        count, total, squares = 0, 0.0, 0.0
        for audio in [data] if hasattr(data, "shape") else data:
            audio = np.atleast_2d(ops.convert_to_numpy(audio))
            checks.samples("data", audio)
            checks.loudness("data", audio)
            audio = audio.astype("float32")
            if not self.built:
                self.build(audio.shape)
            frames = self.frames.call(ops.convert_to_tensor(audio))
            features = ops.convert_to_numpy(self.log_power(frames))
            features = features.reshape(-1, self.bands).astype("float64")
            count += len(features)
            total = total + features.sum(axis=0)
            squares = squares + (features**2).sum(axis=0)
        if count == 0:
            raise checks.bad_value("data", "at least one recording", data)
        mean = total / count
        variance = np.maximum(squares / count - mean**2, 0)
        self.mean.assign(mean)
        # A band that never changes must not be amplified.
        self.std.assign(np.maximum(np.sqrt(variance), 1e-3))

    def compute_output_shape(self, input_shape):
        return (*self.frames.compute_output_shape(input_shape)[:2], self.bands)

    def get_config(self):
        config = {**super().get_config(), **own_config(self, LogMel)}
        del config["dtype"]
        return config
