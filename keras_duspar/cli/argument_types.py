"""Arguments of several commands: types that refuse what cannot be used."""

import argparse


def positive(kind):
    """Numbers above zero.

    Args:
        kind: `int` or `float`.
    """

    def convert(text):
        value = kind(text)
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not above zero")
        return value

    convert.__name__ = f"positive {kind.__name__}"
    return convert


def add_window(parser, help, default=None):
    """Adds `--window`, so many seconds of a stream."""
    parser.add_argument(
        "--window",
        type=positive(float),
        default=default,
        metavar="SECONDS",
        help=help,
    )


def probability(text):
    """Numbers from 0 to 1."""
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to 1")
    return value


def add_threshold(parser):
    """Adds the argument that says how sure a detector must be of a word."""
    parser.add_argument(
        "--threshold",
        type=probability,
        metavar="P",
        help="the threshold of every word (default: those in the file)",
    )
