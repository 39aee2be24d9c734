"""Writes a model as two C files for a microcontroller.

The model is a .keras file or the folder of a training run. The folder gets a
header and a source in C99 with everything from samples to outputs, which need
no library, and a program that compares them with Keras. What the model needs
of flash, memory and MACs is printed.
"""

from keras_duspar.cli.argument_types import add_window
from keras_duspar.cli.commands import convert


def add_arguments(parser):
    """Adds the arguments of the command."""
    convert.add_model(parser)
    parser.add_argument("folder", help="where the files go")
    parser.add_argument(
        "--name",
        help="how files and functions are called (default: as the folder)",
    )
    add_window(parser, "average over the last seconds, not over everything")
    parser.add_argument(
        "--detector",
        metavar="FILE",
        help="a .tflite file that keeps thresholds, and the window",
    )
    convert.add_rounding(parser)


def run(arguments):
    """Runs the command."""
    import keras_duspar  # noqa: PLC0415

    convert.export(
        arguments, keras_duspar.export_c, "name", "window", "detector"
    )
