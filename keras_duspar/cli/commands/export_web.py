"""Writes a page that runs a model on the microphone in a browser.

Any static host can serve the folder; "python -m http.server --directory FOLDER"
serves it on this machine.
"""

from keras_duspar.cli.argument_types import add_window
from keras_duspar.cli.commands import convert


def add_arguments(parser):
    """Adds the arguments of the command."""
    convert.add_model(parser)
    parser.add_argument("folder", help="the folder to write to")
    parser.add_argument(
        "--title", help="the page's title (default: the model's name)"
    )
    add_window(parser, "average over the last seconds (default: 1)", 1.0)
    convert.add_rounding(parser)


def run(arguments):
    """Runs the command."""
    import keras_duspar  # noqa: PLC0415

    function = keras_duspar.export_web
    folder = convert.export(arguments, function, "title", "window")
    print(f"{folder}: python -m http.server --directory {folder}")
