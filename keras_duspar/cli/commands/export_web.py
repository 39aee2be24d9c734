"""Writes a page that runs a model on the microphone of a browser.

The model is a .keras file or the folder of a training run. The folder can be
put on any host of files; "python -m http.server --directory FOLDER" shows it
here.
"""

from keras_duspar.cli.argument_types import positive
from keras_duspar.cli.commands import convert
from keras_duspar.cli.main import CommandError


def add_arguments(parser):
    """Adds the arguments of the command."""
    convert.add_model(parser)
    parser.add_argument("folder", help="where the files go")
    parser.add_argument(
        "--title", help="the page's title (default: the model's name)"
    )
    parser.add_argument(
        "--window",
        type=positive(float),
        default=1.0,
        metavar="SECONDS",
        help="average over the last seconds (default: 1)",
    )
    convert.add_rounding(parser)


def run(arguments):
    """Runs the command."""
    import keras_duspar  # noqa: PLC0415

    try:
        file, _, options = convert.read_model(arguments)
        options |= {"title": arguments.title, "window": arguments.window}
        folder = keras_duspar.export_web(file, arguments.folder, **options)
    except (ValueError, OSError) as e:
        raise CommandError(str(e)) from e
    print(f"{folder}: python -m http.server --directory {folder}")
