"""Files: where one may be made, and nothing half-done."""

import contextlib
import errno
import os
import pathlib
import tempfile

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def check_writable(path):
    """Returns `path` as a `Path`, or raises if no file can be made there."""
    path = pathlib.Path(path)
    problem = ""
    if path.is_dir():
        expected, problem = "be the name of a file", ", which is a folder"
    elif not path.parent.is_dir():
        expected = "lie in a folder that exists"
    elif path.exists() and not path.is_file():
        expected, problem = "be the name of a file", ", which is a device"
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
    leaves what was there before. A link stays one: the file that it leads to
    is replaced.

    Args:
        path: `pathlib.Path` of the file.

    Yields:
        The `pathlib.Path` of an empty file beside it, with the same suffix.
    """
    target, path = path, pathlib.Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "is no file that can be replaced", target)
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
    except OSError as e:
        if e.errno in _FULL and e.filename is None:  # writing does not tell
            e.filename = str(target)
        raise
    finally:
        part.unlink(missing_ok=True)


def write(path, data):
    """Writes bytes or text to a file, whole or not at all."""
    write_all({path: data})


def write_all(contents):
    """Writes files that belong together: if one cannot be written, none is.

    Args:
        contents: Dictionary of `pathlib.Path` to bytes or text.
    """
    with contextlib.ExitStack() as stack:
        for path, data in contents.items():
            part = stack.enter_context(replacing(path))
            if isinstance(data, str):
                data = data.encode()
            part.write_bytes(data)
