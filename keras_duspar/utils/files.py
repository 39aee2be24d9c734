"""Files: where one may be made, and nothing half-done."""

import contextlib
import os
import pathlib
import tempfile


def check_writable(path):
    """Returns `path` as a `Path`, or raises if no file can be made there."""
    path = pathlib.Path(path)
    problem = ""
    if path.is_dir():
        expected, problem = "be the name of a file", ", which is a folder"
    elif not path.parent.is_dir():
        expected = "lie in a folder that exists"
    elif not os.access(path.parent, os.W_OK):
        expected = "lie in a folder that can be written to"
    else:
        return path
    raise ValueError(
        f"`path` must {expected}. Received: path={str(path)!r}{problem}."
    )


@contextlib.contextmanager
def replacing(path):
    """Yields a path to write to; the file takes its place once it is whole.

    A process that is killed, a block that raises or a disk that is full
    leaves what was there before.

    Args:
        path: `pathlib.Path` of the file.

    Yields:
        The `pathlib.Path` of an empty file beside it, with the same suffix.
    """
    handle, name = tempfile.mkstemp(
        path.suffix, f".{path.stem}-", dir=path.parent
    )
    os.close(handle)
    part = pathlib.Path(name)
    try:
        yield part
        # Unlike mkstemp(), as any other new file.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, 0o666 & ~mask)
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write(path, data):
    """Writes bytes or text to a file, whole or not at all."""
    with replacing(path) as part:
        if isinstance(data, str):
            part.write_text(data, encoding="utf-8")
        else:
            part.write_bytes(data)
