"""Finds the subcommand, runs it and explains what went wrong."""

import argparse
import contextlib
import importlib
import os
import pkgutil
import sys

import keras_duspar
from keras_duspar.cli import commands
from keras_duspar.utils.audio_files import AudioFileError


class CommandError(Exception):
    """What the user can do something about; the message says what."""


@contextlib.contextmanager
def explaining():
    """What functions say of bad arguments and files, they say to the user."""
    try:
        yield
    except (ValueError, OSError) as e:
        raise CommandError(str(e)) from e


def main(arguments=None):
    """Runs the command line.

    Args:
        arguments: List of strings, or `None` for those of the process.

    Returns:
        Integer, the exit code: 0, or 2 after an error, of which one line on
        the standard error tells; 1 if only some of several files failed.
    """
    parser = make_parser()
    parsed = parser.parse_args(arguments)
    if parsed.command is None:
        parser.print_help(sys.stderr)
        return 2
    # Before TensorFlow is imported, whose messages are not for users.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        return parsed.run(parsed) or 0
    except (CommandError, AudioFileError, ImportError) as error:
        if os.environ.get("KERAS_DUSPAR_DEBUG"):
            raise
        explain(parsed.command, error)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever reads has enough. Nothing must be flushed at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def explain(command, error):
    """Writes an error as one line."""
    message = " ".join(str(error).split())
    print(f"keras-duspar {command}: {message}", file=sys.stderr)


def make_parser():
    """The parser, with a subcommand for every module in `commands`."""
    parser = argparse.ArgumentParser(
        prog="keras-duspar",
        description="Runs, converts and measures speech models whose recurrent "
        "layers skip zeros.",
        epilog="To begin: `keras-duspar presets` lists the models that come "
        "with the package, `keras-duspar spot word.wav` runs one.",
    )
    parser.add_argument(
        "--version", action="version", version=keras_duspar.__version__
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for info in pkgutil.iter_modules(commands.__path__):
        module = importlib.import_module(f"{commands.__name__}.{info.name}")
        summary, *description = module.__doc__.strip().split("\n\n")
        subparser = subparsers.add_parser(
            info.name.replace("_", "-"),
            help=summary[0].lower() + summary[1:].rstrip("."),
            description="\n\n".join([summary, *description]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(subparser)
        subparser.set_defaults(run=module.run)
    return parser
