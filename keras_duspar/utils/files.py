"""Files: where one may be made, and nothing half-done."""

import contextlib
import os
import pathlib
import tempfile


def check_writable(path):
    """Returns `path` as a `Path`, or raises if no file can be made there."""
    path = pathlib.Path(path)
    if path.is_dir():
        raise ValueError(
            f"`path` must be the name of a file. Received: path={str(path)!r}, "
            "which is a folder."
        )
    folder = path.parent
    if not folder.is_dir():
        raise ValueError(
            f"`path` must lie in a folder that exists. Received: "
            f"path={str(path)!r}."
        )
    if not os.access(folder, os.W_OK):
        raise ValueError(
            "`path` must lie in a folder that can be written to. Received: "
            f"path={str(path)!r}."
        )
    return path


def write(path, data):
    """Writes a file whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # Unlike mkstemp(), as any other new file.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(name)
        raise
