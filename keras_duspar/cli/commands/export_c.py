"""Writes a model as two C files for a microcontroller.

The folder receives a C99 header and source that hold everything from samples to
outputs and need no library, and a program that compares their results with
Keras. The command prints the flash, memory and MACs that the model needs.
"""

from keras_duspar.cli.argument_types import add_window
from keras_duspar.cli.commands import convert


def add_arguments(parser):
    """Adds the arguments of the command."""
    convert.add_model(parser)
    parser.add_argument("folder", help="the folder to write to")
    parser.add_argument(
        "--name",
        help="name of the files and functions (default: that of the folder)",
    )
    add_window(parser, "average over the last seconds only")
    parser.add_argument(
        "--detector",
        metavar="FILE",
        help="a .tflite file whose thresholds and window to use",
    )
    convert.add_rounding(parser)


def run(arguments):
    """Runs the command."""
    import keras_duspar  # noqa: PLC0415

    convert.export(
        arguments, keras_duspar.export_c, "name", "window", "detector"
    )
