"""Serves a page that runs the models on your microphone.

Words appear on a scrolling spectrogram, one key switches between the original
and the enhanced sound, and bars show the occupancy of each layer as it changes.
The page can be opened on this machine only.
"""

import argparse

from keras_duspar.cli import trained
from keras_duspar.cli.argument_types import add_threshold
from keras_duspar.cli.live import server
from keras_duspar.cli.live.session import Session
from keras_duspar.cli.main import CommandError


def port(text):
    """Numbers of ports; 0 stands for any that is free."""
    value = int(text)
    if not 0 <= value <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to 65535")
    return value


def add_arguments(parser):
    """Adds the arguments of the command."""
    for name, task in (("model", "kws"), ("enhancer", "se")):
        parser.add_argument(
            f"--{name}",
            default=trained.DEFAULTS[task],
            metavar="MODEL",
            help="a preset or a streaming .tflite file that "
            f"{trained.TASKS[task][1]} (default: %(default)s)",
        )
    add_threshold(parser)
    parser.add_argument(
        "--port",
        type=port,
        default=8765,
        metavar="N",
        help="port of the page; 0 takes any free one (default: %(default)s)",
    )


def run(arguments):
    """Runs the command."""

    def make_session():
        from keras_duspar.streaming import Detector  # noqa: PLC0415

        words = trained.load_stream(arguments.model, "kws")
        enhancer = trained.load_stream(arguments.enhancer, "se", "--enhancer")
        try:
            detector = Detector(words, thresholds=arguments.threshold)
            return Session(detector, enhancer)
        except ValueError as e:
            raise CommandError(str(e)) from e

    make_session()  # says what is wrong with the models, if anything is
    try:
        _, serve, address = server.open_server(make_session, arguments.port)
    except OSError as e:
        raise CommandError(
            f"`--port` {arguments.port} cannot be used: {e.strerror}."
        ) from e
    print(f"{address}  (Ctrl+C ends it)", flush=True)
    serve()
