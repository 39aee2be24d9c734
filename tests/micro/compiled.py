"""Exported models, compiled and loaded."""

import ctypes
import functools
import re
import shutil

import numpy as np
import pytest

import keras_duspar
from keras_duspar import models
from tests.kits.tools import run
from tests.tflite.conftest import make_audio

BUILDERS = {
    "kws": models.keyword_spotter,
    "slu": models.intent_recognizer,
    "se": models.speech_enhancer,
}
FLAGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror"]


@functools.cache
def make_model(name, units=12, recurrent="duspar"):
    """One of the paper's models, always with the same weights."""
    model = BUILDERS[name](recurrent, units)
    rng = np.random.default_rng(5)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(0, 1.4 / units**0.5, weight.shape))
    for layer in model.layers:
        if hasattr(layer, "adapt"):
            layer.adapt(make_audio(8000))
    return model


def compiler():
    """The command of a C compiler for this machine."""
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if found is None:
        pytest.skip("a C compiler is needed")
    return found


def samples_of(audio):
    """Audio as integers of 16 bits, and as the floats that these are."""
    integers = np.clip(np.round(audio * 32768), -32768, 32767).astype("int16")
    return integers, (integers / 32768).astype("float32")


class Compiled:
    """A model that was exported to a folder, as a shared library."""

    def __init__(self, folder, name, flags=("-O2",)):
        self.name = name
        path = folder / f"{name}.so"
        define = f"-D{name.upper()}_COUNTS"
        run(
            *(compiler(), *FLAGS, *flags, define, "-shared", "-fPIC"),
            *(folder / f"{name}.c", "-o", path),
        )
        self.library = ctypes.CDLL(str(path))
        header = (folder / f"{name}.h").read_text()
        self.constants = {
            key: int(value)
            for key, value in re.findall(
                rf"#define {name.upper()}_(\w+) (\d+)", header
            )
        }
        sizes = re.findall(r"output \d+: .*, (\d+) floats", header)
        self.sizes = list(map(int, sizes))
        self.function("init")()

    def function(self, name, result=None):
        found = getattr(self.library, f"{self.name}_{name}")
        found.restype = result
        return found

    def output(self, index=0):
        pointer = self.function("output", ctypes.POINTER(ctypes.c_float))
        return np.array(pointer(index)[: self.sizes[index]], "float32")

    def __call__(self, values, kind="push"):
        """Pushes hops; returns the new values of output 0."""
        hop = self.constants["SAMPLES"]
        values = np.ascontiguousarray(values.ravel())
        push = self.function(kind, ctypes.c_uint32)
        outputs = []
        for i in range(values.size // hop):
            chunk = values[i * hop : (i + 1) * hop]
            if push(ctypes.c_void_p(chunk.ctypes.data)) & 1:
                outputs.append(self.output())
        return np.array(outputs)

    def occupancies(self):
        found = []
        for i in range(self.constants["OPERANDS"]):
            counts = (ctypes.c_uint32 * 2)()
            first = ctypes.addressof(counts)
            self.function("count")(
                i, ctypes.c_void_p(first), ctypes.c_void_p(first + 4)
            )
            found.append(counts[0] / counts[1])
        return found


def export(model, folder, name="model", **options):
    """Exports and compiles a model."""
    keras_duspar.export_c(model, folder, name=name, report=None, **options)
    return Compiled(folder, name)
