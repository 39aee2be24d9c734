"""Imports Keras before all else, and says plainly if its backend is missing.

What Keras says of it is a long traceback out of its own files.
"""

import importlib
import importlib.util
import os
import pathlib
import sys

BACKENDS = ("tensorflow", "jax", "torch")
COMMAND = "keras-duspar"


def problem(name, asked_by="`KERAS_BACKEND`"):
    """What is wrong with a backend.

    Args:
        name: String, the backend.
        asked_by: String, what it was chosen by. Default: the environment
            variable.

    Returns:
        A string, or `None` if it is one that is installed.
    """
    text = (
        f"{asked_by} must be {', '.join(BACKENDS[:-1])} or {BACKENDS[-1]}, "
        f"and installed. Received: {name!r}"
    )
    if name not in BACKENDS:
        return f"{text}."
    if importlib.util.find_spec(name) is None:
        return f"{text}, which is not: `pip install {name}`."
    return None


def _import_keras():
    """Imports Keras, or raises an `ImportError` that tells what to do."""
    # Here and not in the command's own code, which comes after Keras.
    program = pathlib.Path(getattr(sys, "argv", [""])[0]).name
    is_command = program.startswith(COMMAND)
    if is_command:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        importlib.import_module("keras")
    except (ImportError, ValueError) as error:
        message = _explanation(error)
        if message is None:
            raise
        if is_command and not os.environ.get("KERAS_DUSPAR_DEBUG"):
            print(f"{COMMAND}: {message}", file=sys.stderr)
            raise SystemExit(2) from error
        raise ImportError(message) from error


def _explanation(error):
    """What is wrong with the backend, `None` if it is something else."""
    asked = os.environ.get("KERAS_BACKEND")
    if asked:
        return problem(asked)
    # Keras' own choice, or that of its settings in keras.json.
    missing = (getattr(error, "name", None) or "").partition(".")[0]
    if missing not in BACKENDS:
        return None
    return problem(missing, "Keras' backend, which `KERAS_BACKEND` chooses,")


_import_keras()
