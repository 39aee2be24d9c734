"""Writes `.tflite` files: metadata and names."""

import numpy as np
from tensorflow.lite.python import schema_py_generated as schema

from keras_duspar.tflite.storing import pack


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
    return pack(model, len(data))
