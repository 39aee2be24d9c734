"""What a recipe does before it imports Keras."""

import ctypes
import importlib
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

# Options of `mallopt()` in glibc's <malloc.h>, and what they are set to here.
_MALLOC_OPTIONS = {
    -8: 1,  # M_ARENA_MAX: others map what is large, whatever is said below
    -4: 0,  # M_MMAP_MAX
    -1: 2**31 - 1,  # M_TRIM_THRESHOLD
    -2: 2**26,  # M_TOP_PAD
}


def keep_memory():
    """Lets the process keep the memory that it frees, on Linux with glibc.

    A training step needs the same buffers again and again, 240 MB in
    `se.py`. By default each of them is given back to the system, and every
    page of the next one costs a page fault: a fifth of the step.

    Returns:
        Boolean, whether the memory is kept.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return all([mallopt(*option) for option in _MALLOC_OPTIONS.items()])


keep_memory()

try:
    from keras_duspar.utils.optional import optional_package

    importlib.import_module("keras")  # says if the backend is missing
    # Every recipe needs these, whatever the backend.
    for name in ("jinja2", "matplotlib", "rich", "yaml", "tensorflow"):
        optional_package(name)
except ImportError as error:
    if os.environ.get("KERAS_DUSPAR_DEBUG"):
        raise
    sys.exit(f"{os.path.basename(sys.argv[0])}: {error}")
