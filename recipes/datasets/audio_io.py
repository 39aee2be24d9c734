"""Reading audio files, and saying what is wrong with those that are bad."""

import functools
import importlib
import importlib.util
import pathlib
import struct

import numpy as np

from datasets.base import DataError
from datasets.samples import resample
from keras_duspar.utils.audio_files import SAMPLE_RATE
from keras_duspar.utils.audio_files import AudioFile
from keras_duspar.utils.audio_files import AudioFileError
from keras_duspar.utils.audio_files import NotFiniteError

# Nothing above 4 kHz is left in a telephone recording, and less below that.
LOWEST_RATE = 8000
# One step of 16-bit audio either way counts as silence.
SILENCE = 1.5 / 32768


def read_audio(path, rates=None):
    """Reads a file as mono audio of 16 kHz.

    Args:
        path: The file.
        rates: Sample rates that the file may have, or `None` for any rate of
            at least 8 kHz.

    Returns:
        A float32 array, with shape `(samples,)`.

    Raises:
        AudioFileError: The file is truncated, empty, silent, of another rate
            or no audio at all.
        DataError: The file holds NaN or infinite samples, which no recording
            does: something went wrong where the data was made.
    """
    path = pathlib.Path(path)
    if path.is_file():
        check_wav_length(path)
    with AudioFile(path) as file:
        if rates is not None and file.rate not in rates:
            expected = " or ".join(f"{r} Hz" for r in rates)
            reason = f"has a rate of {file.rate} Hz instead of {expected}"
            raise AudioFileError(path, reason)
        if file.rate < LOWEST_RATE:
            reason = f"has a rate of {file.rate} Hz, below {LOWEST_RATE} Hz"
            raise AudioFileError(path, reason)
        try:
            if tensorflow_io() is not None:
                audio = decode_tensorflow_io(path)
                audio = resample(audio, file.rate)
            else:
                audio = file.mono(SAMPLE_RATE)
                if file.read < file.length:
                    reason = f"is truncated: {file.read} of {file.length}"
                    raise AudioFileError(path, f"{reason} samples")
        except NotFiniteError as e:
            raise DataError(f"{e} Repair or remove the file.") from e
    if np.ptp(audio) <= 2 * SILENCE:
        raise AudioFileError(path, "is silent")
    return audio


def samples_of(source, rates=None):
    """The float32 samples of a path or of an array."""
    if not isinstance(source, np.ndarray):
        return read_audio(source, rates)
    if source.dtype == np.int16:
        return source.astype("float32") / 32768
    return np.asarray(source, "float32")


def check_wav_length(path):
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
                raise AudioFileError(path, "is truncated: it has no samples")
            name, length = struct.unpack("<4sI", chunk)
            if name == b"data":
                break
            file.seek(length + length % 2, 1)
        # Programs that write to a pipe leave 0 or the largest number there.
        left = path.stat().st_size - file.tell()
        if length > left and length < 0x7FFFF000:
            reason = f"is truncated: {left} of {length} bytes of samples"
            raise AudioFileError(path, reason)


@functools.cache
def tensorflow_io():
    """The module tensorflow-io if it is installed and loads, else `None`."""
    if importlib.util.find_spec("tensorflow_io") is None:
        return None
    try:
        return importlib.import_module("tensorflow_io")
    except Exception:  # built for another TensorFlow: many kinds of errors
        return None


def decode_tensorflow_io(path):
    """The samples of a file by tensorflow-io, channels averaged."""
    try:
        tensor = tensorflow_io().audio.AudioIOTensor(str(path))
        audio = tensor.to_tensor().numpy()
    except Exception as e:  # the errors of TensorFlow have no common base
        reason = "is not an audio file, or is damaged"
        raise AudioFileError(path, reason) from e
    if len(audio) == 0:
        raise AudioFileError(path, "holds no samples")
    if np.issubdtype(audio.dtype, np.integer):
        audio = audio.astype("float32") / -float(np.iinfo(audio.dtype).min)
    if not np.isfinite(audio).all():
        raise NotFiniteError(path)
    return audio.astype("float32").mean(axis=1)
