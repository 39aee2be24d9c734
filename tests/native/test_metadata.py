"""What a file says of itself, found by the library in C."""

import ctypes
import json

import numpy as np
import pytest

from keras_duspar import native
from keras_duspar.tflite import flatbuffer
from tests.kept.make import HERE

pytestmark = pytest.mark.any_backend

FILES = sorted(HERE.glob("*/*.tflite"))


def metadata(data, name=b"keras_duspar"):
    """The entry's bytes, `None` without one, or raises."""
    library = native.load()
    content, length = ctypes.c_void_p(), ctypes.c_size_t()
    status = library.duspar_file_metadata(
        data, len(data), name, ctypes.byref(content), ctypes.byref(length)
    )
    if status:
        raise ValueError(library.duspar_last_error().decode())
    if content.value is None:
        assert length.value == 0
        return None
    return ctypes.string_at(content.value, length.value)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_equals_the_reader_in_python(path):
    data = path.read_bytes()
    entries = flatbuffer.read(path).metadata
    assert "keras_duspar" in entries
    for name, content in entries.items():
        assert metadata(data, name.encode()) == content.rstrip(b"\0")
    assert json.loads(metadata(data))["format"] == 1


def test_absent_entry():
    assert metadata(FILES[0].read_bytes(), b"nobody") is None


@pytest.mark.parametrize("data", [b"", b"TFL3", b"something else, no model"])
def test_other_files(data):
    with pytest.raises(ValueError, match=r"`bytes` must be a \.tflite file"):
        metadata(data)


def test_cut_off():
    """Any cut is refused, or leaves the entry whole."""
    data = min((p.read_bytes() for p in FILES), key=len)
    whole = metadata(data)
    refused = 0
    for size in range(8, len(data), 97):
        try:
            assert metadata(data[:size]) in (None, whole)
        except ValueError as e:
            assert "cut off or damaged" in str(e)
            refused += 1
    assert refused


def test_damaged():
    """Wrong bytes give an error or other content, never a crash."""
    data = min((p.read_bytes() for p in FILES), key=len)
    rng = np.random.default_rng(0)
    for _ in range(3000):
        damaged = bytearray(data)
        for position in rng.integers(0, len(data), 20):
            damaged[position] = rng.integers(256)
        damaged[:4] = rng.bytes(4) if rng.random() < 0.1 else damaged[:4]
        damaged[4:8] = b"TFL3"
        try:
            metadata(bytes(damaged))
        except ValueError as e:
            assert "cut off or damaged" in str(e)


def test_arguments():
    assert native.load().duspar_file_metadata(None, 0, None, None, None) == 1
