"""A model as a page that runs in a browser."""

import json
import pathlib
import subprocess
import sys
import zlib

import keras
import numpy as np

from keras_duspar.micro import program as programs
from keras_duspar.micro.lowering import lower
from keras_duspar.tflite import converter
from keras_duspar.utils import files
from keras_duspar.utils.nesting import all_layers

WEB = pathlib.Path(__file__).parent / "web"
_MAGIC = 0x44755370
_FLAGS = (
    "-target wasm32-wasi -mexec-model=reactor -std=gnu99 -O3 -msimd128 "
    "-Wl,--no-entry -Wl,--strip-all"
)


def export_web(
    model,
    folder,
    weights="float32",
    labels=None,
    representative=None,
    title=None,
    window=1.0,
):
    """Writes a page that runs a model on the microphone of a browser.

    The folder can be put on any host of files: nothing is computed there. The
    page shows keywords or intents, or plays enhanced speech, and tells the
    occupancy and the time that the model takes. The machine that runs the
    model comes with this package as WebAssembly, so that no compiler is
    needed.

    Args:
        model: A functional or sequential `keras.Model` that takes audio and
            can be streamed, or the path of a `.keras` file.
        folder: String or `pathlib.Path`, where the files go.
        weights: As in `keras_duspar.tflite.convert()`. Default: `"float32"`.
        labels: List of strings, the names of the classes. Default: `None`.
        representative: As in `keras_duspar.tflite.convert()`. Default: `None`.
        title: String, the page's title. Default: `None`, which stands for the
            model's name.
        window: Float, seconds of which averages over time are taken, if the
            model has any. Default: 1.0, the length of a recording of a
            keyword.

    Returns:
        The `pathlib.Path` of the folder.

    Example:

    ```python
    model = keras_duspar.models.speech_enhancer("duspar", 116)
    keras_duspar.export_web(model, "page/")
    ```
    """
    folder = pathlib.Path(folder)
    model = converter.load_model(converter.check_model(model))
    averages = keras.layers.GlobalAveragePooling1D
    if not any(isinstance(layer, averages) for layer in all_layers(model)):
        window = None
    lowered = lower(
        *(model, weights, labels, window),
        representative=representative,
        report=None,
    )
    if not lowered.takes_audio or not lowered.stream.sample_rate:
        raise ValueError(
            "`model` must take audio whose sample rate it tells, to hear a "
            f"microphone. Received: {lowered.model.name!r}."
        )
    folder.mkdir(parents=True, exist_ok=True)
    about = describe(lowered, title)
    contents = {path.name: path.read_bytes() for path in WEB.iterdir()}
    contents["model.json"] = json.dumps(about)
    contents["model.bin"] = encode(lowered)
    files.write_all({folder / name: data for name, data in contents.items()})
    return folder


def describe(lowered, title=None):
    """What the page has to know of a model."""
    labels = lowered.labels
    output, stream = lowered.outputs[0], lowered.stream
    blank = labels is not None and len(labels) < output.size
    return {
        "title": title or lowered.model.name.replace("_", " "),
        "kind": stream.signals[0].kind,
        "samples": lowered.input.size,
        "sample_rate": stream.sample_rate,
        "delay": stream.delay,
        "size": output.size,
        "clock": output.clock,
        "labels": labels,
        "blank": output.size - 1 if blank else None,
        "operands": [
            {"layer": layer, "name": name, "fan": fan}
            for layer, name, fan in lowered.program.operands
        ],
    }


def encode(lowered):
    """The bytes of `model.bin`, as `runtime/web.c` reads them."""
    program = lowered.program
    words = sum(program.words(), [])
    code = np.array(words + sum(program.tables, []), "<i4")
    # An even number, so that what is behind them begins with a whole word.
    halves = program.pool("halves")
    halves = np.pad(halves, (0, halves.size % 2))
    floats, integers = program.pool("floats"), program.pool("bytes")
    header = np.array(
        [
            *(_MAGIC, len(words), code.size),
            *(floats.size, halves.size, integers.size),
            *(program.memory, program.entries, program.sums),
            len(program.operands),
            *map(program.place, (lowered.input, lowered.outputs[0])),
        ],
        "<i4",
    )
    parts = (header, code, floats, halves, integers)
    return b"".join(part.tobytes() for part in parts)


def sources_number():
    """A number made of the sources of the machine."""
    texts = (programs.RUNTIME / f for f in (*programs.SOURCES, "web.c"))
    found = zlib.crc32(b"".join(path.read_bytes() for path in texts))
    return found & 0x7FFFFFFF


def build(path):
    """Builds the machine with `zig cc`, of the package `ziglang`."""
    subprocess.run(
        [
            *(sys.executable, "-m", "ziglang", "cc", *_FLAGS.split()),
            *(f"-DSOURCES={sources_number()}", "-o", str(path)),
            str(programs.RUNTIME / "web.c"),
        ],
        check=True,
    )


if __name__ == "__main__":
    build(WEB / "runtime.wasm")
