"""Audio files of any length, block by block."""

import contextlib
import os
import pathlib
import tempfile

import numpy as np

from keras_duspar import checks
from keras_duspar.optional import optional_package

# Blocks are about a second long.
BLOCK_SECONDS = 1.0


class AudioFileError(ValueError):
    """A file that cannot be read or written; the message says why."""


class AudioFile:
    """An audio file that is read once, from its start to its end.

    To be used in a `with` block. Needs the packages soundfile and soxr.

    Args:
        path: The file, of any format that libsndfile reads.

    Attributes:
        rate: Integer, samples a second.
        channels: Integer, number of channels.
        length: Integer, samples of a channel, as the file's header says.
        read: Integer, samples of a channel that were read.
        subtype: String, how samples are coded, such as `"PCM_16"`.
    """

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self._soundfile = optional_package("soundfile")
        if not self.path.is_file():
            what = "is no file" if self.path.exists() else "does not exist"
            raise AudioFileError(f"{path} {what}.")
        if self.path.stat().st_size == 0:
            raise AudioFileError(f"{path} is empty.")
        try:
            self._file = self._soundfile.SoundFile(str(self.path))
        except PermissionError as e:
            raise AudioFileError(f"{path} cannot be read: {e}.") from e
        except (self._soundfile.SoundFileError, RuntimeError, TypeError) as e:
            if not os.access(self.path, os.R_OK):
                raise AudioFileError(f"{path} must not be read.") from e
            raise AudioFileError(
                f"{path} is no audio file, or a damaged one."
            ) from e
        self.rate = self._file.samplerate
        self.channels = self._file.channels
        self.length = self._file.frames
        self.subtype = self._file.subtype
        self.read = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()

    @property
    def seconds(self):
        """Length in seconds, as the file's header says."""
        return self.length / self.rate

    def blocks(self, rate):
        """Yields what is in the file, converted to another sample rate.

        Args:
            rate: Integer, samples a second.

        Yields:
            Arrays of shape `(channels, samples)`, about a second each.
        """
        resampler = Resampler(self.rate, rate, self.channels)
        size = max(1, round(self.rate * BLOCK_SECONDS))
        while True:
            try:
                block = self._file.read(size, dtype="float32", always_2d=True)
            except (self._soundfile.SoundFileError, RuntimeError) as e:
                raise AudioFileError(
                    f"{self.path} is damaged after "
                    f"{self.read / self.rate:.2f} s."
                ) from e
            if not np.isfinite(block).all():
                raise AudioFileError(
                    f"{self.path} holds samples that are NaN or infinite."
                )
            peak = float(np.abs(block).max(initial=0))
            if peak > checks.LOUDEST:
                raise AudioFileError(
                    f"{self.path} holds samples up to {peak:g}, where full "
                    f"scale is 1 and at most {checks.LOUDEST:g} are taken. "
                    "Divide them, 16-bit samples by 32768."
                )
            self.read += len(block)
            last = len(block) < size
            yield resampler(block.T, last)
            if last:
                break
        if self.read == 0:
            raise AudioFileError(f"{self.path} holds no samples.")


def read_mono(path, rate):
    """The samples of a recording at a rate, channels averaged.

    Args:
        path: The file.
        rate: Integer, samples a second of what is returned.
    """
    with AudioFile(path) as file:
        blocks = [block.mean(axis=0) for block in file.blocks(rate)]
    return np.concatenate(blocks)


class Resampler:
    """Converts audio from one sample rate to another, block by block.

    Args:
        rate: Integer, samples a second of what comes in.
        new_rate: Integer, samples a second of what goes out.
        channels: Integer, number of channels.
    """

    def __init__(self, rate, new_rate, channels):
        self._stream = None
        if rate != new_rate:
            soxr = optional_package("soxr")
            self._stream = soxr.ResampleStream(rate, new_rate, channels)

    def __call__(self, block, last=False):
        """Converts a block of shape `(channels, samples)`.

        Args:
            block: The next samples, which may be none.
            last: Boolean, whether they are the last ones. Default: `False`.

        Returns:
            As many samples as are complete.
        """
        if self._stream is None:
            return block
        block = np.ascontiguousarray(block.T, "float32")
        return self._stream.resample_chunk(block, last=last).T


@contextlib.contextmanager
def writing(path, rate, channels, subtype=None):
    """Writes an audio file, whole or not at all.

    The format is that of the file's suffix.

    Args:
        path: The file to write.
        rate: Integer, samples a second.
        channels: Integer, number of channels.
        subtype: String, how samples are coded, if the format can. Default:
            `None`, the format's own.

    Yields:
        A function that writes an array of shape `(channels, samples)`.
    """
    soundfile = optional_package("soundfile")
    path = pathlib.Path(path)
    known = soundfile.available_formats()
    format = path.suffix[1:].upper()
    if format not in known:
        raise AudioFileError(
            f"{path} cannot be written: its suffix must be that of an audio "
            "format, such as .wav or .flac."
        )
    if not soundfile.check_format(format, subtype):
        subtype = None
    if path.is_dir():
        raise AudioFileError(f"{path} cannot be written: it is a folder.")
    try:
        handle, part = tempfile.mkstemp(
            prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent
        )
        os.close(handle)
    except OSError as e:
        raise AudioFileError(f"{path} cannot be written: {e.strerror}.") from e
    try:
        try:
            with soundfile.SoundFile(
                part, "w", rate, channels, subtype, format=format
            ) as file:
                yield lambda audio: file.write(np.ascontiguousarray(audio.T))
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(part, 0o666 & ~mask)  # a temporary file is private
            os.replace(part, path)
        except (soundfile.SoundFileError, OSError) as e:
            raise AudioFileError(f"{path} cannot be written: {e}") from e
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
