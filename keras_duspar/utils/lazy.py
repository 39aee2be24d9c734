"""Packages that import what they offer only when it is asked for.

So a program that runs a `.tflite` file, or prints its `--help`, imports
neither Keras nor a backend.
"""

import importlib
import sys
import types

_waiting = []


def attach(package, names, modules=""):
    """Gives a package its public names, without importing their modules.

    Args:
        package: String, the package's `__name__`.
        names: Dictionary of module, as in a relative import, to the public
            names that it defines, with spaces between them.
        modules: The package's modules that are public themselves, likewise.
            Default: none.
    """
    module = sys.modules[package]
    module._homes = {
        name: home for home, found in names.items() for name in found.split()
    }
    module.__all__ = sorted([*module._homes, *modules.split()])
    module.__class__ = _Package


class _Package(types.ModuleType):
    def __getattr__(self, name):
        if name in self._homes:
            home = importlib.import_module(self._homes[name], self.__name__)
            value = getattr(home, name)
        elif name in self.__all__:
            value = importlib.import_module(f".{name}", self.__name__)
        else:
            raise AttributeError(
                f"module {self.__name__!r} has no attribute {name!r}"
            )
        setattr(self, name, value)
        return value

    def __setattr__(self, name, value):
        # Python calls this when it has imported a module of the package. One
        # that is named after what it defines, as `profiling.profile`, must
        # not hide it.
        if isinstance(value, types.ModuleType) and (
            self._homes.get(name) == f".{name}"
        ):
            value = getattr(value, name)
        super().__setattr__(name, value)
        _call_waiting()

    def __dir__(self):
        return self.__all__


def call_when_idle(function):
    """Calls a function once none of our modules is half imported.

    Such a module lacks names that the function may need. Mostly there is
    none, and the function is called at once.

    Args:
        function: Callable without arguments.
    """
    _waiting.append(function)
    _call_waiting()


def _call_waiting():
    while _waiting and not _half_imported():
        function = _waiting.pop()
        try:
            function()
        except Exception:
            # Another thread may have begun to import a module meanwhile. It
            # comes here when it is done.
            if not _half_imported():
                raise
            _waiting.append(function)


def _half_imported():
    prefix = f"{__name__.partition('.')[0]}."
    return any(
        getattr(getattr(module, "__spec__", None), "_initializing", False)
        for name, module in list(sys.modules.items())
        if name.startswith(prefix)
    )
