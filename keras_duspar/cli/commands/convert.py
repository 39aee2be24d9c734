"""Converts a Keras model to TFLite.

The model is a .keras file, as model.save("model.keras") writes it, or the
folder of a training run, whose labels are kept. The .tflite file contains
everything from raw audio to the output. With --streaming, for apps that listen,
it takes a few new samples per call and passes its states from call to call;
without, it takes whole recordings of any length.

By default, files have sparse operators, which need this package's delegate:
keras_duspar.tflite.load() finds it, and docs/deploy.md tells how apps use it.
Files with --ops builtin run in any TFLite runtime, more slowly.
"""

import numpy as np

from keras_duspar.cli import trained
from keras_duspar.cli.argument_types import add_window
from keras_duspar.cli.argument_types import positive
from keras_duspar.cli.chatter import start_keras
from keras_duspar.cli.main import explaining
from keras_duspar.utils.audio_files import read_mono

OPTIONS = (
    "streaming",
    "frames",
    "window",
    "ops",
    "task",
    "output_names",
    "count",
)


def add_model(parser):
    """Adds the model, for all commands that make something of it."""
    parser.add_argument(
        "model",
        help="the .keras file to convert, or the folder of a training run",
    )


def add_rounding(parser):
    """Adds what is rounded, and the labels."""
    parser.add_argument(
        "--weights",
        default="float32",
        choices=("float32", "bfloat16", "int8"),
        help="what to round kernels to; a quantized model keeps its own "
        "rounding (default: float32)",
    )
    parser.add_argument(
        "--representative",
        nargs="+",
        metavar="FILE",
        help="with --weights int8: typical recordings, whose ranges are used "
        "to round operands to integers, too",
    )
    parser.add_argument(
        "--labels",
        metavar="FILE",
        help="names of the classes to store, one per line or as a JSON list "
        "(default: those of the run or model)",
    )


def add_arguments(parser):
    """Adds the arguments of the command."""
    add_model(parser)
    parser.add_argument("path", help="the .tflite file to write")
    parser.add_argument(
        "--streaming",
        action="store_true",
        help="take a stream chunk by chunk instead of whole recordings",
    )
    parser.add_argument(
        "--frames",
        type=positive(int),
        default=1,
        metavar="N",
        help="with --streaming: frames per call (default: 1)",
    )
    add_window(
        parser,
        "with --streaming: how far back a keyword spotter's scores look; "
        "listening needs it, such as 1 (default: to the beginning)",
    )
    parser.add_argument(
        "--ops",
        default="sparse",
        choices=("sparse", "builtin"),
        help="sparse: one operator per layer, which skips zeros and needs the "
        "delegate; builtin: runs everywhere (default: sparse)",
    )
    add_rounding(parser)
    parser.add_argument(
        "--task",
        help="name of the model's task to store (default: that of the run)",
    )
    parser.add_argument(
        "--output-names",
        nargs="+",
        metavar="NAME",
        help="names of the outputs (default: the model's own)",
    )
    parser.add_argument(
        "--count",
        action="store_true",
        help="with --ops builtin: add an output that counts zeros, to read "
        "the occupancy from",
    )


def read_model(arguments):
    """The model's file, what its run says, and what `add_rounding()` adds."""
    file, config = trained.find_run(
        arguments.model, "model", "or a .keras file"
    )
    start_keras()
    options = {
        "weights": arguments.weights,
        "labels": config.get("labels") or None,
    }
    if arguments.labels:
        options["labels"] = trained.read_labels(arguments.labels)
    if arguments.representative:
        options["representative"] = [
            read_mono(recording, trained.SAMPLE_RATE)[np.newaxis]
            for recording in arguments.representative
        ]
    return file, config, options


def export(arguments, function, *names):
    """Calls a function that makes a folder of files of the model.

    Args:
        arguments: Those of the command.
        function: Takes the model's file, the folder and keyword arguments.
        *names: Of the command's own arguments among these.

    Returns:
        What the function returns.
    """
    with explaining():
        file, _, options = read_model(arguments)
        options |= {name: getattr(arguments, name) for name in names}
        return function(file, arguments.folder, **options)


def run(arguments):
    """Runs the command."""
    from keras_duspar import tflite  # noqa: PLC0415

    options = {name: getattr(arguments, name) for name in OPTIONS}
    with explaining():
        file, config, rounding = read_model(arguments)
        options["task"] = options["task"] or config.get("task")
        path = tflite.convert(file, arguments.path, **options, **rounding)
    print(tflite.inspect(path))
