"""Writes `.tflite` files: metadata, names, and nothing half-done."""

import contextlib
import os
import pathlib
import tempfile

import flatbuffers
import numpy as np
from tensorflow.lite.python import schema_py_generated as schema


class _Builder(flatbuffers.Builder):
    """Keeps the data of tensors aligned, as the converter has it."""

    def StartVector(self, size, count, alignment):
        alignment = 16 if size == 1 else alignment
        return super().StartVector(size, count, alignment)


def finish(data, names, metadata, change=None):
    """Gives the inputs and outputs their names, and adds metadata.

    Args:
        data: The bytes of a `.tflite` file with one signature.
        names: Dictionary of the names of inputs and outputs in the signature
            to those that they get.
        metadata: Dictionary of name to bytes.
        change: Callable that takes the parsed file, a `schema.ModelT`, and
            changes it, or `None`. Default: `None`.

    Returns:
        The bytes of the new file.
    """
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(data, 0))
    if change is not None:
        change(model)
    (signature,) = model.signatureDefs
    for tensor in [*signature.inputs, *signature.outputs]:
        tensor.name = names[tensor.name.decode()]
    for name, content in metadata.items():
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(content, "u1")
        entry = schema.MetadataT()
        entry.name = name
        entry.buffer = len(model.buffers)
        model.buffers.append(buffer)
        model.metadata = [*(model.metadata or []), entry]
    builder = _Builder(len(data) + 4096)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


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
