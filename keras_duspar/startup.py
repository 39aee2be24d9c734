"""What happens once Keras is imported, by whomever.

`keras_duspar` does not import Keras by itself. Once Keras is there, our
classes are registered, so that models load without `custom_objects`; and if
its backend is missing, the error is one line instead of a long traceback out
of Keras' own files.
"""

import importlib
import importlib.abc
import importlib.util
import os
import sys

from keras_duspar.utils import lazy

BACKENDS = ("tensorflow", "jax", "torch")


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


def prepare():
    """Registers our classes with Keras, now or once it is imported."""
    if "keras" in sys.modules:
        lazy.call_when_idle(_register)
    elif not any(isinstance(finder, _KerasFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _KerasFinder())


def _register():
    importlib.import_module("keras_duspar.registration")


class _KerasFinder(importlib.abc.MetaPathFinder):
    """Finds Keras as the other finders do, and puts our loader before it.

    Looking for Keras, as `importlib.util.find_spec()` does, imports nothing
    and changes nothing. Once Keras has been imported, this finder is gone.
    """

    def find_spec(self, name, path=None, target=None):
        if name != "keras":
            return None
        for finder in sys.meta_path:
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    if spec.loader is not None:
                        spec.loader = _KerasLoader(spec.loader, self)
                    return spec
        return None


class _KerasLoader(importlib.abc.Loader):
    def __init__(self, loader, finder):
        self._loader, self._finder = loader, finder

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        # The module shall look as if we had not been there.
        module.__loader__ = module.__spec__.loader = self._loader
        try:
            self._loader.exec_module(module)
        except (ImportError, ValueError) as error:
            message = _explanation(error)
            if message is None:
                raise
            raise ImportError(message) from error
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        lazy.call_when_idle(_register)
