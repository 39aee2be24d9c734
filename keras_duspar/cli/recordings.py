"""How commands read their recordings."""

import contextlib
import os
import sys

from keras_duspar.cli.main import CommandError
from keras_duspar.cli.main import explain
from keras_duspar.utils.audio_files import AudioFile
from keras_duspar.utils.audio_files import AudioFileError

# Shorter files are over before a bar would be of use.
LONG_SECONDS = 30


def for_each(paths, hear, command):
    """Hears recordings; one that cannot be heard is named and left out.

    Args:
        paths: List of recordings.
        hear: Callable that takes one of them.
        command: String, the subcommand.

    Returns:
        The exit code: 0, or 1 if some could not be heard. If there is no
        other, the error is raised.
    """
    failed = []
    for path in paths:
        try:
            hear(path)
        except (CommandError, AudioFileError) as error:
            failed.append(path)
            if len(failed) == len(paths):
                raise
            explain(command, error)
    return int(bool(failed))


@contextlib.contextmanager
def listening(path, rate, mono=True):
    """Opens a recording.

    Args:
        path: The file, or `"-"` for the standard input.
        rate: Integer, the sample rate that is needed.
        mono: Boolean, whether to average the channels. Default: `True`.

    Yields:
        The `AudioFile`, and an iterable of its blocks, of shape
        `(channels, samples)`. A bar shows how far it has come.
    """
    with AudioFile(path) as file, progress(path, file.seconds) as advance:

        def blocks():
            for block in file.blocks(rate):
                yield block.mean(axis=0, keepdims=True) if mono else block
                advance(block.shape[1] / rate)

        yield file, blocks()


@contextlib.contextmanager
def progress(description, seconds):
    """A bar on the terminal, if there is one and it takes long enough."""
    if seconds < LONG_SECONDS or not sys.stderr.isatty():
        yield lambda seconds: None
        return
    try:
        from rich import console  # noqa: PLC0415
        from rich import progress as bars  # noqa: PLC0415
    except ImportError:  # pretty, but not needed
        yield lambda seconds: None
        return
    with bars.Progress(
        console=console.Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task(str(description), total=seconds)
        yield lambda seconds: bar.advance(task, seconds)


def check_output(recording, output, overwrite):
    """Raises if a file must not be written.

    Args:
        recording: String, what is read.
        output: `pathlib.Path` of the file to write.
        overwrite: Boolean, whether it may replace another file.
    """
    if not output.is_file():
        return
    if os.path.isfile(recording) and output.samefile(recording):
        raise CommandError(
            f"{output} is the recording itself, which is never overwritten: "
            "name another file."
        )
    if not overwrite:
        raise CommandError(
            f"{output} exists: `--overwrite` replaces it, or name another file."
        )


def too_short(path):
    """The error about a recording without a single frame."""
    return CommandError(f"{path} is too short to hear anything in it.")
