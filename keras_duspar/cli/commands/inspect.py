"""Shows what is in a .tflite file: inputs, states, operators, labels."""

import dataclasses
import json

from keras_duspar.cli import trained
from keras_duspar.cli.main import explaining


def add_arguments(parser):
    """Adds the arguments of the command."""
    parser.add_argument(
        "path",
        nargs="+",
        metavar="FILE",
        help=".tflite files, or names of presets, which stand for their "
        "streaming files",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object per line"
    )


def run(arguments):
    """Runs the command."""
    from keras_duspar import tflite  # noqa: PLC0415

    for path in arguments.path:
        with explaining():
            found = tflite.inspect(trained.find_file(path))
        if arguments.json:
            print(json.dumps(dataclasses.asdict(found)))
        else:
            print(found)
