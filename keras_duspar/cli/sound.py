"""Sound as it happens: where it comes from, where it goes, what is shown."""

import collections
import contextlib
import queue
import sys
import time

import numpy as np

from keras_duspar.cli.main import CommandError
from keras_duspar.utils.audio_files import AudioFile
from keras_duspar.utils.audio_files import writing
from keras_duspar.utils.optional import optional_package

SECONDS = 0.05  # in a block


def blocks_of(source, rate, wait=True, device=None):
    """Yields blocks of mono sound, as they come in.

    Args:
        source: String. `"microphone"`, `"-"` for 16-bit samples on the
            standard input, or a file.
        rate: Integer, samples per second of the microphone and of the
            standard input.
        wait: Boolean, whether a file takes as long as its sound. Default:
            `True`.
        device: String or integer, which microphone. Default: `None`.

    Yields:
        An array of int16 or float32 samples, and their rate.
    """
    if source == "microphone":
        yield from _microphone(rate, device)
    elif source == "-":
        size = 2 * max(1, round(SECONDS * rate))
        while data := sys.stdin.buffer.read(size):
            yield np.frombuffer(data[: len(data) // 2 * 2], "<i2"), rate
    else:
        yield from _file(source, wait)


def _file(path, wait):
    began, given = time.monotonic(), 0
    with AudioFile(path) as file:
        size = max(1, round(SECONDS * file.rate))
        for block in file.blocks(file.rate):
            mono = block.mean(axis=0)
            for start in range(0, len(mono), size):
                part = mono[start : start + size]
                given += len(part)
                late = began + given / file.rate - time.monotonic()
                if wait and late > 0:
                    time.sleep(late)
                yield part, file.rate


def sound_device():
    """The package that knows microphones, or an error that says how."""
    try:
        return optional_package("sounddevice", "live")
    except OSError as e:  # PortAudio, which it needs
        raise CommandError(f"The sound device cannot be used: {e}") from e


def _microphone(rate, device):
    sounddevice = sound_device()
    waiting = queue.SimpleQueue()
    try:
        stream = sounddevice.InputStream(
            samplerate=rate,
            channels=1,
            dtype="int16",
            device=device,
            blocksize=round(SECONDS * rate),
            callback=lambda data, *_: waiting.put(data[:, 0].copy()),
        )
    except (sounddevice.PortAudioError, ValueError) as e:
        raise CommandError(f"The microphone cannot be opened: {e}") from e
    with stream:
        while True:
            yield waiting.get(), rate


@contextlib.contextmanager
def player(path, rate):
    """A function that plays sound, or writes it to a file.

    Args:
        path: The file, or `None` to play.
        rate: Integer, samples per second.
    """
    if path is not None:
        with writing(path, rate, 1) as write:
            yield lambda sound: write(sound[np.newaxis])
        return
    sounddevice = sound_device()
    try:
        stream = sounddevice.OutputStream(rate, channels=1, dtype="float32")
    except (sounddevice.PortAudioError, ValueError) as e:
        raise CommandError(f"The loudspeaker cannot be opened: {e}") from e
    with stream:
        yield lambda sound: stream.write(sound[:, np.newaxis])


class Meter:
    """Level, share of the processor and occupancy, of about a second.

    Args:
        runners: List of runners, whose counters are read and reset.
    """

    def __init__(self, runners):
        self._runners = runners
        self._blocks = collections.deque(maxlen=round(1 / SECONDS))
        self.seconds = 0.0  # of sound so far

    def add(self, samples, rate, took):
        """Takes a block, and the seconds that it took to run."""
        scale = 32768 if samples.dtype == np.int16 else 1
        power = np.mean(np.square(samples / scale)) if len(samples) else 0.0
        self._blocks.append((power, took, len(samples) / rate))
        self.seconds += len(samples) / rate

    @property
    def level(self):
        """Decibels below full scale of the last block, at least -90."""
        power = self._blocks[-1][0] if self._blocks else 0.0
        power = power if np.isfinite(power) else 0.0
        return float(10 * np.log10(max(power, 1e-9)))

    @property
    def share(self):
        """Seconds of computing per second of sound."""
        _, took, length = np.sum(self._blocks or [(0, 0, 0)], axis=0)
        return float(took / length) if length else 0.0

    def occupancy(self):
        """Mean share of the operands' entries that are not zero, or `None`."""
        shares = [
            share
            for runner in self._runners
            for operands in runner.occupancy().values()
            for share in operands.values()
        ]
        return float(np.mean(shares)) if shares else None

    def line(self):
        """All of it in a line."""
        bar = "#" * max(0, round((self.level + 60) / 3))
        occupancy = self.occupancy()
        shown = "" if occupancy is None else f"  occupancy {occupancy:6.1%}"
        return (
            f"{self.seconds:8.1f} s  {self.level:6.1f} dB [{bar:20.20}]"
            f"{shown}  processor {self.share:6.2%}"
        )


@contextlib.contextmanager
def display(meter):
    """A function that shows an event; on a terminal, the meter goes on below.

    Args:
        meter: The `Meter`.

    Yields:
        A function that takes a text, or `None` if only the meter has changed.
    """
    rich_live = None
    if sys.stdout.isatty():
        with contextlib.suppress(ImportError):  # pretty, but not needed
            from rich import live as rich_live  # noqa: PLC0415
    if rich_live is None:

        def show(text):
            if text is not None:
                print(text, flush=True)

        yield show
        return
    from rich.text import Text  # noqa: PLC0415

    shown = collections.deque(maxlen=12)
    with rich_live.Live(refresh_per_second=10) as screen:

        def show(text):
            if text is not None:
                shown.append(text)
            screen.update(Text("\n".join([*shown, meter.line()])))

        yield show
