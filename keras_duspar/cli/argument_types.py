"""Types of arguments, which refuse what a command cannot use."""

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


def probability(text):
    """Numbers from 0 to 1."""
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to 1")
    return value
