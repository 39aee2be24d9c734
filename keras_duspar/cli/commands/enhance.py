"""Takes the noise out of a recording of speech.

Every channel is enhanced by itself. The output has the sample rate, the
channels and the length of the input; what the model does not hear, above
half of its own sample rate, is left out.
"""

import time

import numpy as np

from keras_duspar.cli import trained
from keras_duspar.cli.listening import listening
from keras_duspar.utils.audio_files import Resampler
from keras_duspar.utils.audio_files import writing


def add_arguments(parser):
    """Adds the arguments of the command."""
    parser.add_argument("noisy", help="the recording")
    parser.add_argument(
        "clean", help="the file to write; its suffix says the format"
    )
    trained.add_arguments(parser, labels=False)


def run(arguments):
    """Runs the command."""
    model = trained.load(arguments.model, "se")
    began = time.perf_counter()
    with (
        listening(arguments.noisy, model.sample_rate, mono=False) as (
            file,
            blocks,
        ),
        writing(
            arguments.clean, file.rate, file.channels, file.subtype
        ) as write,
    ):
        back = Resampler(model.sample_rate, file.rate, file.channels)
        written = 0
        for block in model.run(blocks):
            clean = back(block)
            # Converting twice may add a sample, but none beyond what was read.
            clean = clean[:, : file.read - written]
            write(clean)
            written += clean.shape[1]
        clean = back(np.zeros((file.channels, 0), "float32"), last=True)
        missing = file.read - written
        clean = clean[:, :missing]
        write(np.pad(clean, [(0, 0), (0, missing - clean.shape[1])]))
    seconds = file.read / file.rate
    took = time.perf_counter() - began
    print(
        f"{arguments.clean}: {seconds:.2f} s, {file.channels} channel(s) at "
        f"{file.rate} Hz, in {took:.2f} s"
    )
