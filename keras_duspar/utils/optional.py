"""Packages that only some parts need."""

import importlib


def optional_package(name, extra="recipes"):
    """Imports a package, or says how to install it.

    Args:
        name: String, the module's name.
        extra: String, the extra of this package that brings it. Default:
            `"recipes"`.

    Returns:
        The module.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"This needs the package `{name.split('.')[0]}`. Install it with "
            f"`pip install keras-duspar[{extra}]`."
        ) from error
