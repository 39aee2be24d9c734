"""Files are read whole, or an error says that they are damaged."""

import pathlib
import struct

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert")
flatbuffer = pytest.importorskip("keras_duspar.tflite.flatbuffer")

pytestmark = pytest.mark.any_backend
FOLDER = pathlib.Path(__file__).parents[1] / "kept" / "0.1.0"
FILES = sorted(FOLDER.glob("*.tflite"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_as_the_interpreter_reads_it(path):
    from ai_edge_litert.interpreter import Interpreter

    file = flatbuffer.read(path)
    content = path.read_bytes()
    assert file.size == len(content)
    interpreter = Interpreter(model_content=content)
    signatures = interpreter.get_signature_list()
    for found in file.signatures:
        expected = signatures[found.name]
        assert sorted(found.inputs) == sorted(expected["inputs"])
        assert sorted(found.outputs) == sorted(expected["outputs"])
    for index, tensor in enumerate(file.tensors[0]):
        details = interpreter._get_tensor_details(index, 0)
        assert details["name"] == tensor.name
        assert details["shape_signature"].tolist() == list(tensor.shape)
        assert np.dtype(details["dtype"]) == np.dtype(tensor.dtype)


def test_hostile_numbers():
    """Any 32-bit number of a file replaced: it is read, or it is damaged."""
    content = min((p.read_bytes() for p in FILES), key=len)
    rng = np.random.default_rng(0)
    outcomes = set()
    for place in rng.choice(len(content) // 4 - 2, 300, replace=False):
        for number in (0, 0x10000, 0x7FFFFFFF, 0xFFFFFFFF):
            hostile = bytearray(content)
            struct.pack_into("<I", hostile, 8 + 4 * int(place), number)
            try:
                flatbuffer.File(bytes(hostile))
                outcomes.add("read")
            except ValueError as error:
                assert "cut off or damaged" in str(error)
                outcomes.add("damaged")
    assert outcomes == {"read", "damaged"}
