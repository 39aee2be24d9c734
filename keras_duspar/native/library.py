"""The one place that knows where the native library is."""

import ctypes
import functools
import os
import pathlib
import sys

from keras_duspar.native import interface

NAMES = {"win32": "duspar.dll", "darwin": "libduspar.dylib"}
NAME = NAMES.get(sys.platform, "libduspar.so")
VARIABLE = "KERAS_DUSPAR_LIBRARY"


def _places():
    """The files looked for."""
    # A package that is installed in editable mode has two folders: that of
    # its sources and that of what was built.
    package = sys.modules[__package__]
    folders = [pathlib.Path(folder) for folder in package.__path__]
    root = pathlib.Path(__file__).resolve().parents[2]
    folders.append(root / "build" / "native")
    return [folder / NAME for folder in folders]


def library_path():
    """Returns the path of the native library.

    The environment variable `KERAS_DUSPAR_LIBRARY` comes first. Without it,
    the library is the one inside the installed package or, in a clone, the
    one that `make native` built if that is newer. This is the path to give to
    LiteRT's `load_delegate`.

    Returns:
        The path, as a string.

    Example:

    >>> keras_duspar.native.library_path()
    '...duspar...'
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        if not os.path.isfile(chosen):
            raise FileNotFoundError(
                f"`{VARIABLE}` must be the path of the native library. "
                f"Received: {VARIABLE}={chosen!r}, which is no file."
            )
        return os.path.abspath(chosen)
    places = _places()
    found = [place for place in places if place.is_file()]
    if found:
        return str(max(found, key=lambda place: place.stat().st_mtime))
    raise FileNotFoundError(
        f"The native library {NAME} was not found. Build it with `make "
        "native`, or install the package again on a machine with a C "
        f"compiler, or set `{VARIABLE}` to its path. Looked for: "
        + ", ".join(str(place) for place in places)
    )


@functools.cache
def _load(path):
    try:
        library = ctypes.CDLL(path)
    except OSError as e:
        raise ImportError(
            f"The native library must be one for this machine. Received: "
            f"{path}, which cannot be loaded ({e}). Build it again with `make "
            "native`."
        ) from e
    found = library.duspar_interface()
    if found != interface.INTERFACE:
        raise ImportError(
            f"The native library must have interface {interface.INTERFACE}. "
            f"Received: {path} with interface {found}. Build it again with "
            "`make native`."
        )
    interface.declare(library)
    return library


def load():
    """Loads the native library.

    Its functions are those of `tflite/include/duspar.h`, with the types of
    arguments and results declared.

    Returns:
        A `ctypes.CDLL`, always the same one for the same path.

    Example:

    >>> keras_duspar.native.load().duspar_interface()
    6
    """
    return _load(library_path())


def kernels():
    """Lists the kernels of the native library that this processor can run.

    Returns:
        Names, the fastest first. The last one is always `"reference"`. The
        one that the environment variable `DUSPAR_KERNEL` names comes before
        all others, and is used unless another is asked for.

    Example:

    >>> keras_duspar.native.kernels()[-1]
    'reference'
    """
    library = load()
    return [
        library.duspar_kernel_name(index).decode()
        for index in range(library.duspar_kernel_count())
        if library.duspar_kernel_usable(index)
    ]
