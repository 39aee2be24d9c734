"""Packages that only some parts need."""

import importlib


def optional_package(name):
    """Imports a package, or says how to install it.

    Args:
        name: String, the module's name.

    Returns:
        The module.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"This needs the package `{name}`. Install it with "
            "`pip install keras-duspar[recipes]`."
        ) from error
