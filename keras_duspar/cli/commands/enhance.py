"""Removes noise from a recording of speech.

Each channel is enhanced separately. The output keeps the sample rate, channels
and length of the input, except that it has nothing above half of the model's
own sample rate.
"""

import json
import pathlib
import time

import numpy as np

from keras_duspar.cli import trained
from keras_duspar.cli.main import CommandError
from keras_duspar.cli.recordings import check_output
from keras_duspar.cli.recordings import for_each
from keras_duspar.cli.recordings import listening
from keras_duspar.utils.audio_files import Resampler
from keras_duspar.utils.audio_files import writing


def add_arguments(parser):
    """Adds the arguments of the command."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="the recording and the file to write, whose suffix sets the "
        "format; with --out, any number of recordings; - reads stdin",
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        help="write to this folder, which is made if need be, under the names "
        "of the recordings",
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace existing files, but never the recording itself",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object per line"
    )
    trained.add_arguments(parser, "se")


def run(arguments):
    """Runs the command."""
    outputs = find_outputs(arguments)
    model = trained.load(arguments.model, "se")

    def hear(noisy):
        clean = outputs[noisy]
        check_output(noisy, clean, arguments.overwrite)
        report(clean, enhance(model, noisy, clean), arguments.json)

    return for_each(list(outputs), hear, "enhance")


def find_outputs(arguments):
    """Dictionary of recording to the file to write."""
    if arguments.out is None:
        if len(arguments.files) != 2:
            raise CommandError(
                "The arguments must be a recording and the file to write, or "
                "recordings and `--out FOLDER`. Received: "
                f"{' '.join(arguments.files)}."
            )
        noisy, clean = arguments.files
        return {noisy: pathlib.Path(clean)}
    folder = pathlib.Path(arguments.out)
    names = {p: "stdin.wav" if p == "-" else p for p in arguments.files}
    outputs = {p: folder / pathlib.Path(name).name for p, name in names.items()}
    if len(set(outputs.values())) < len(arguments.files):
        raise CommandError(
            "With `--out`, the recordings must have different names."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise CommandError(
            f"`--out` must be a folder. Received: {folder}, which is not one "
            f"and cannot be made: {e.strerror}."
        ) from e
    return outputs


def enhance(model, noisy, clean):
    """Enhances a recording; returns what is to be told of it."""
    began = time.perf_counter()
    with (
        listening(noisy, model.sample_rate, mono=False) as (file, blocks),
        writing(clean, file.rate, file.channels, file.subtype) as write,
    ):
        back = Resampler(model.sample_rate, file.rate, file.channels)
        written = 0
        for block in model.run(blocks):
            part = back(block)
            # Converting twice may add a sample, but none beyond what was read.
            part = part[:, : file.read - written]
            write(part)
            written += part.shape[1]
        part = back(np.zeros((file.channels, 0), "float32"), last=True)
        missing = file.read - written
        part = part[:, :missing]
        write(np.pad(part, [(0, 0), (0, missing - part.shape[1])]))
    return {
        "file": str(noisy),
        "output": str(clean),
        "seconds": round(file.read / file.rate, 3),
        "channels": file.channels,
        "sample_rate": file.rate,
        "took": round(time.perf_counter() - began, 3),
    }


def report(clean, done, as_json):
    """Prints what was written."""
    if as_json:
        print(json.dumps(done), flush=True)
        return
    channels = "channel" if done["channels"] == 1 else "channels"
    print(
        f"{clean}: {done['seconds']:.2f} s, {done['channels']} {channels} at "
        f"{done['sample_rate']} Hz, in {done['took']:.2f} s",
        flush=True,
    )
