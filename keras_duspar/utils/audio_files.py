"""Audio files of any length, block by block."""

import contextlib
import io
import os
import pathlib
import sys

import numpy as np

from keras_duspar.utils import checks
from keras_duspar.utils import files
from keras_duspar.utils.optional import optional_package

# Samples per second that models, losses and metrics are made for.
SAMPLE_RATE = 16000
# Blocks are about a second long.
BLOCK_SECONDS = 1.0


class AudioFileError(ValueError):
    """A file that cannot be read or written.

    Args:
        path: The file.
        reason: String, what is wrong: a predicate of which the file is the
            subject, such as `"is empty"`.
    """

    def __init__(self, path, reason):
        super().__init__(f"{path} {reason}.")
        self.reason = reason


class NotFiniteError(AudioFileError):
    """A file with samples that are NaN or infinite, which none records."""

    def __init__(self, path):
        super().__init__(path, "holds samples that are NaN or infinite")


# How files begin that libsndfile does not read, where in them, and what they
# are.
_UNREADABLE = (
    (4, b"ftyp", "an MPEG-4 file (.m4a, .mp4)"),
    (0, b"\x1aE\xdf\xa3", "a Matroska or WebM file"),
    (0, b"0&\xb2u\x8ef\xcf\x11", "a Windows Media file (.wma)"),
    (0, b"#!AMR", "an AMR file"),
    (0, b"\xff\xf1", "an AAC file"),
    (0, b"\xff\xf9", "an AAC file"),
)


class AudioFile:
    """An audio file that is read once, from its start to its end.

    To be used in a `with` block. Needs the packages soundfile and soxr.

    Args:
        path: The file, of any format that libsndfile reads, or `"-"` for the
            standard input.

    Attributes:
        rate: Integer, samples per second.
        channels: Integer, number of channels.
        length: Integer, samples of a channel, as the file's header says.
        read: Integer, samples of a channel that were read.
        subtype: String, how samples are coded, such as `"PCM_16"`.
    """

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self._soundfile = optional_package("soundfile", "runtime")
        source = self._source()
        try:
            self._file = self._soundfile.SoundFile(source)
        except PermissionError as e:
            raise AudioFileError(path, f"cannot be read: {e}") from e
        except (self._soundfile.SoundFileError, RuntimeError, TypeError) as e:
            raise AudioFileError(path, self._problem(source)) from e
        self.rate = self._file.samplerate
        self.channels = self._file.channels
        self.length = self._file.frames
        self.subtype = self._file.subtype
        self.read = 0

    def _source(self):
        """What soundfile reads: the path, or all of the standard input."""
        if str(self.path) == "-":
            content = sys.stdin.buffer.read()
            if not content:
                raise AudioFileError(self.path, "(the standard input) is empty")
            return io.BytesIO(content)
        if not self.path.is_file():
            what = "is not a file" if self.path.exists() else "does not exist"
            raise AudioFileError(self.path, what)
        if self.path.stat().st_size == 0:
            raise AudioFileError(self.path, "is empty")
        return str(self.path)

    def _problem(self, source):
        """Why soundfile does not read it."""
        if isinstance(source, io.BytesIO):
            start = source.getvalue()[:16]
        elif not os.access(source, os.R_OK):
            return "cannot be read: permission denied"
        else:
            with open(source, "rb") as file:
                start = file.read(16)
        for offset, begins, what in _UNREADABLE:
            if start[offset:].startswith(begins):
                name = self.path.stem if self.path.stem != "-" else "talk"
                return (
                    f"is {what}, which libsndfile does not read. Convert it: "
                    f"`ffmpeg -i {self.path} {name}.wav`, on a Mac also "
                    f"`afconvert -f WAVE -d LEI16 {self.path} {name}.wav`"
                )
        return "is not an audio file, or is damaged"

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
            rate: Integer, samples per second.

        Yields:
            Arrays of shape `(channels, samples)`, about a second each.
        """
        resampler = Resampler(self.rate, rate, self.channels)
        size = max(1, round(self.rate * BLOCK_SECONDS))
        while True:
            try:
                block = self._file.read(size, dtype="float32", always_2d=True)
            except (self._soundfile.SoundFileError, RuntimeError) as e:
                reason = f"is damaged after {self.read / self.rate:.2f} s"
                raise AudioFileError(self.path, reason) from e
            if not np.isfinite(block).all():
                raise NotFiniteError(self.path)
            peak = float(np.abs(block).max(initial=0))
            if peak > checks.LOUDEST:
                reason = (
                    f"holds samples up to {peak:g}, where full scale is 1 and "
                    f"at most {checks.LOUDEST:g} are taken: divide them, "
                    "16-bit samples by 32768"
                )
                raise AudioFileError(self.path, reason)
            self.read += len(block)
            last = len(block) < size
            yield resampler(block.T, last)
            if last:
                break
        if self.read == 0:
            raise AudioFileError(self.path, "holds no samples")

    def mono(self, rate):
        """All samples at a rate, channels averaged."""
        blocks = [block.mean(axis=0) for block in self.blocks(rate)]
        return np.concatenate(blocks)


def read_mono(path, rate):
    """The samples of a recording at a rate, channels averaged.

    Args:
        path: The file.
        rate: Integer, samples per second of what is returned.
    """
    with AudioFile(path) as file:
        return file.mono(rate)


class Resampler:
    """Converts audio from one sample rate to another, block by block.

    Args:
        rate: Integer, samples per second of what comes in.
        new_rate: Integer, samples per second of what goes out.
        channels: Integer, number of channels.
    """

    def __init__(self, rate, new_rate, channels):
        self._stream = None
        if rate != new_rate:
            soxr = optional_package("soxr", "runtime")
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


class _Sink(io.FileIO):
    """A file that keeps the first error: encoders lose those of the end."""

    error = None

    def write(self, data):
        written = 0
        try:
            while written < len(data):
                written += super().write(data[written:])
        except OSError as e:
            self.error = self.error or e
        return written


@contextlib.contextmanager
def writing(path, rate, channels, subtype=None):
    """Writes an audio file, whole or not at all.

    The format is that of the file's suffix.

    Args:
        path: The file to write.
        rate: Integer, samples per second.
        channels: Integer, number of channels.
        subtype: String, how samples are coded, if the format can. Default:
            `None`, the format's own.

    Yields:
        A function that writes an array of shape `(channels, samples)`.
    """
    soundfile = optional_package("soundfile", "runtime")
    path = pathlib.Path(path)
    known = soundfile.available_formats()
    format = path.suffix[1:].upper()
    if format not in known:
        raise AudioFileError(
            path,
            "cannot be written: its suffix must be that of an audio format, "
            "such as .wav or .flac",
        )
    if not soundfile.check_format(format, subtype):
        subtype = None
    if path.is_dir():
        raise AudioFileError(path, "cannot be written: it is a folder")
    sink = None
    try:
        with files.replacing(path) as part:
            with (
                _Sink(part, "w+b") as sink,
                soundfile.SoundFile(
                    sink, "w", rate, channels, subtype, format=format
                ) as file,
            ):
                yield lambda audio: file.write(np.ascontiguousarray(audio.T))
            if sink.error is not None:
                raise sink.error
    except (soundfile.SoundFileError, OSError, AssertionError) as error:
        # Of a full disk, soundfile only knows that less was written.
        found = getattr(sink, "error", None) or error
        if isinstance(found, AssertionError):
            raise
        reason = getattr(found, "strerror", None) or str(found).rstrip(".")
        raise AudioFileError(path, f"cannot be written: {reason}") from found
