"""Names the intents of a spoken command, in order."""

import itertools
import json

import numpy as np

from keras_duspar.cli import trained
from keras_duspar.cli.recordings import for_each
from keras_duspar.cli.recordings import listening
from keras_duspar.cli.recordings import too_short
from keras_duspar.losses import ctc_decode


def add_arguments(parser):
    """Adds the arguments of the command."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="recordings; - reads stdin"
    )
    trained.add_arguments(parser, "slu")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object per line"
    )


def run(arguments):
    """Runs the command."""
    model = trained.load(arguments.model, "slu", arguments.labels)
    # Fills the last group of frames and one more: recordings may end with
    # their last word, and what was said is told behind it.
    silence = np.zeros((1, 2 * model.group - 1), "float32")

    def hear(path):
        with listening(path, model.sample_rate) as (file, blocks):
            # A few groups per second: these may be kept.
            parts = list(model.run(itertools.chain(blocks, [silence])))
        if file.read / file.rate * model.sample_rate < model.hop:
            raise too_short(path)
        logits = np.concatenate(parts, axis=1)
        labels, scores = ctc_decode(logits)
        intents = [model.labels[i] for i in labels[0]]
        if arguments.json:
            score = round(float(scores[0]), 4)
            found = {"intents": intents, "log_probability": score}
            print(json.dumps({"file": str(path), **found}), flush=True)
        else:
            found = "  ".join(intents) or "(nothing)"
            print(f"{path}  {found}", flush=True)

    return for_each(arguments.files, hear, "understand")
