"""Changes what a `.tflite` file says of itself; needs no TensorFlow."""

import pathlib

import flatbuffers
import numpy as np

from keras_duspar.streaming.detector import detector_settings
from keras_duspar.tflite import description
from keras_duspar.tflite import flatbuffer
from keras_duspar.utils import files


class _Builder(flatbuffers.Builder):
    """Keeps the data of tensors aligned, as the converter does."""

    def StartVector(self, size, count, alignment):
        alignment = 16 if size == 1 else alignment
        return super().StartVector(size, count, alignment)


def pack(model, size):
    """The bytes of a parsed file.

    Args:
        model: The `schema.ModelT`.
        size: Integer, about how many bytes it takes.
    """
    builder = _Builder(size + 4096)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def store_detector(path, thresholds=None, smoothing=None, refractory=None):
    """Stores in a file what `keras_duspar.streaming.Detector` is to use.

    What is not given stays as it is.

    Args:
        path: String or `pathlib.Path`, a streaming `.tflite` file that was
            converted with `window`. It is replaced.
        thresholds: Number from 0 to 1, or a dictionary of label to number.
            Default: `None`.
        smoothing: Float, seconds. Default: `None`.
        refractory: Float, seconds. Default: `None`.

    Example:

    ```python
    keras_duspar.tflite.store_detector("spotter.tflite", {"yes": 0.93})
    ```
    """
    path = pathlib.Path(path)
    about = description.decode(flatbuffer.read(path)) or {}
    kept = about.get("detector")
    if kept is None:
        raise ValueError(
            "`path` must be a streaming file that was converted with "
            f"`window`. Received: {str(path)!r}."
        )
    labels = about["labels"] or list(map(str, range(len(kept["thresholds"]))))
    if thresholds is None or isinstance(thresholds, dict):
        known = dict(zip(labels, kept["thresholds"]))
        thresholds = known | (thresholds or {})
    about["detector"] = detector_settings(
        labels,
        kept["window"],
        thresholds,
        kept["smoothing"] if smoothing is None else smoothing,
        kept["refractory"] if refractory is None else refractory,
    )
    data = path.read_bytes()
    schema = flatbuffer.schema()
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(data, 0))
    (entry,) = [
        e for e in model.metadata if e.name.decode() == description.NAME
    ]
    content = np.frombuffer(description.encode(about), "u1")
    model.buffers[entry.buffer].data = content
    files.write(path, pack(model, len(data)))
