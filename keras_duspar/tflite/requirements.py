"""Packages that only some functions need."""

import importlib


def require(module, purpose):
    """Imports a module of the extra `[tflite]`, or says how to get it.

    Args:
        module: String, the module's name.
        purpose: String, what needs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as e:
        package = module.split(".")[0]
        raise ImportError(
            f"{purpose} needs {package}: pip install 'keras-duspar[tflite]'"
        ) from e
