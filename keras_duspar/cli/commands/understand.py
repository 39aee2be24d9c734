"""Tells what a spoken command asks for."""

import json

import numpy as np

from keras_duspar.cli import trained
from keras_duspar.cli.listening import listening
from keras_duspar.cli.listening import too_short
from keras_duspar.losses import ctc_decode


def add_arguments(parser):
    """Adds the arguments of the command."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="recordings")
    trained.add_arguments(parser)
    parser.add_argument(
        "--json", action="store_true", help="one JSON object a line"
    )


def run(arguments):
    """Runs the command."""
    model = trained.TrainedModel(arguments.model, "slu", arguments.labels)
    for path in arguments.files:
        with listening(path, model.sample_rate) as (_, blocks):
            # A few groups a second: these may be kept.
            parts = [model.stream.push(block) for block in blocks]
            logits = np.concatenate([*parts, model.stream.finish()], axis=1)
        if logits.shape[1] == 0:
            raise too_short(path)
        labels, scores = ctc_decode(logits)
        intents = [model.labels[i] for i in labels[0]]
        if arguments.json:
            score = round(float(scores[0]), 4)
            found = {"intents": intents, "log_probability": score}
            print(json.dumps({"file": str(path), **found}), flush=True)
        else:
            found = "  ".join(intents) or "(nothing)"
            print(f"{path}  {found}", flush=True)
