"""Reading audio files, and saying what is wrong with those that are bad."""

import functools
import importlib
import importlib.util
import pathlib
import struct

import numpy as np
import soundfile
import soxr

from datasets.base import SAMPLE_RATE
from datasets.base import DataError

# Nothing above 4 kHz is left in a telephone recording, and less below that.
LOWEST_RATE = 8000
# One step of 16-bit audio either way counts as silence.
SILENCE = 1.5 / 32768


class BadAudio(Exception):
    """A file that should be left out; the message is the reason."""


def read_audio(path, rates=None, sample_rate=SAMPLE_RATE):
    """Reads a file as mono audio at `sample_rate`.

    Args:
        path: The file.
        rates: Sample rates that the file may have, or `None` for any rate of
            at least 8 kHz.
        sample_rate: Integer, the rate to convert to. Default: 16000.

    Returns:
        A float32 array, with shape `(samples,)`.

    Raises:
        BadAudio: The file is truncated, empty, silent, of another rate or no
            audio at all.
        DataError: The file holds NaN or infinite samples, which no recording
            does: something went wrong where the data was made.
    """
    path = pathlib.Path(path)
    try:
        size = path.stat().st_size
    except OSError as e:
        raise BadAudio("missing") from e
    if size == 0:
        raise BadAudio("empty file")
    check_wav_length(path, size)
    audio, rate = decoder()(path)
    if audio.shape[0] == 0:
        raise BadAudio("no samples")
    if rates is not None and rate not in rates:
        expected = " or ".join(f"{r} Hz" for r in rates)
        raise BadAudio(f"sample rate {rate} Hz instead of {expected}")
    if rate < LOWEST_RATE:
        raise BadAudio(f"sample rate {rate} Hz is below {LOWEST_RATE} Hz")
    if not np.isfinite(audio).all():
        raise DataError(
            f"{path} holds NaN or infinite samples. Repair or remove the file."
        )
    if audio.ndim == 2:
        audio = audio.mean(axis=1)
    if np.ptp(audio) <= 2 * SILENCE:
        raise BadAudio("silent")
    return resample(audio, rate, sample_rate)


def resample(audio, rate, sample_rate=SAMPLE_RATE):
    """Converts audio from `rate` to `sample_rate`, band-limited."""
    audio = np.ascontiguousarray(audio, "float32")
    if rate == sample_rate:
        return audio
    return soxr.resample(audio, rate, sample_rate, quality="HQ")


def samples_of(source, rates=None, sample_rate=SAMPLE_RATE):
    """The float32 samples of a path or of an array."""
    if not isinstance(source, np.ndarray):
        return read_audio(source, rates, sample_rate)
    if source.dtype == np.int16:
        return source.astype("float32") / 32768
    return np.asarray(source, "float32")


def to_int16(audio):
    """Rounds float audio to 16 bits; what is over full scale is clipped."""
    return np.clip(np.rint(audio * 32768), -32768, 32767).astype("int16")


def check_wav_length(path, size):
    """Raises if a WAV file ends before its header says it does.

    The decoders return what there is without a word.
    """
    with open(path, "rb") as file:
        head = file.read(12)
        if head[:4] != b"RIFF" or head[8:12] != b"WAVE":
            return
        while True:
            chunk = file.read(8)
            if len(chunk) < 8:
                raise BadAudio("truncated: no samples behind the header")
            name, length = struct.unpack("<4sI", chunk)
            if name == b"data":
                break
            file.seek(length + length % 2, 1)
        # Programs that write to a pipe leave 0 or the largest number there.
        left = size - file.tell()
        if length > left and length < 0x7FFFF000:
            raise BadAudio(f"truncated: {left} of {length} bytes of samples")


@functools.cache
def decoder():
    """The function that decodes a file to `(samples, rate)`.

    tensorflow-io is used where it is installed and loads, else soundfile.
    """
    if importlib.util.find_spec("tensorflow_io") is not None:
        try:
            tfio = importlib.import_module("tensorflow_io")
            return functools.partial(decode_tensorflow_io, tfio)
        except Exception:  # built for another TensorFlow: many kinds of errors
            pass
    return decode_soundfile


def decode_soundfile(path):
    """Decodes a file with libsndfile."""
    try:
        with soundfile.SoundFile(path) as file:
            audio = file.read(dtype="float32")
            rate, expected = file.samplerate, file.frames
    except (soundfile.SoundFileError, RuntimeError, TypeError) as e:
        raise BadAudio("not an audio file, or a damaged one") from e
    if len(audio) < expected:
        raise BadAudio(f"truncated: {len(audio)} of {expected} samples")
    return audio, rate


def decode_tensorflow_io(tfio, path):
    """Decodes a file with tensorflow-io."""
    try:
        tensor = tfio.audio.AudioIOTensor(str(path))
        rate = int(tensor.rate)
        audio = tensor.to_tensor().numpy()
    except Exception as e:  # the errors of TensorFlow have no common base
        raise BadAudio("not an audio file, or a damaged one") from e
    if np.issubdtype(audio.dtype, np.integer):
        audio = audio.astype("float32") / -float(np.iinfo(audio.dtype).min)
    audio = np.asarray(audio, "float32")
    return (audio[:, 0] if audio.shape[1] == 1 else audio), rate
