"""The kernels for TFLite Micro on emulated boards with a Cortex-M.

The custom operators of a streaming file run through the registrations that
TFLite Micro would call; `board/micro_host.c` takes its place.
"""

import ctypes
import pathlib
import re
import tempfile

import numpy as np
import pytest

import keras_duspar
from keras_duspar.tflite import flatbuffer
from tests.conftest import ROOT
from tests.kits.tools import program
from tests.kits.tools import run
from tests.micro.boards import BOARD
from tests.micro.boards import BOARDS
from tests.micro.boards import run_image
from tests.micro.compiled import compiler
from tests.micro.compiled import make_model
from tests.native.conftest import Runner
from tests.tflite.conftest import make_audio

pytestmark = pytest.mark.any_backend

SOURCES = [
    ROOT / "tflite" / name
    for name in (ROOT / "tflite/src/micro/sources.txt").read_text().split()
]
FLAGS = [
    *("-std=gnu11", "-DDUSPAR_MICRO", "-DDUSPAR_STATIC", "-ffp-contract=off"),
    *("-I", ROOT / "tflite/src", "-I", ROOT / "tflite/include"),
]
TYPES = {"float32": 1, "int32": 2, "int16": 7, "int8": 9, "bool": 6}
ITEMS = {"int16": 2, "int8": 1}
FRAMES = 8


def numbers(values):
    return "{" + ", ".join(map(str, values)) + "}"


def places_of(content):
    """Where in the file each tensor's constant is; -1 if it is none."""
    whole = np.frombuffer(content, "uint8")
    model = flatbuffer.schema().Model.GetRootAsModel(content, 0)
    graph = model.Subgraphs(0)
    found = []
    for i in range(graph.TensorsLength()):
        data = model.Buffers(graph.Tensors(i).Buffer()).DataAsNumpy()
        there = isinstance(data, np.ndarray) and data.size
        found.append(data.ctypes.data - whole.ctypes.data if there else -1)
    return found


def write_graph(path, content, states, given, frames):
    """Writes the file, its custom operators and the inputs as C."""
    file = flatbuffer.File(content)
    tensors, operators = file.tensors[0], file.custom_operators()
    used = {i for o, _ in operators for i in (*o.inputs, *o.outputs)}
    sizes = [
        int(np.prod(t.shape)) * ITEMS.get(t.dtype, 4) if i in used else 0
        for i, t in enumerate(tensors)
    ]
    lines = [
        f"enum {{ TENSORS = {len(tensors)}, NODES = {len(operators)}, "
        f"STATES = {len(states)}, FRAMES = {len(frames)}, GIVEN = {given} }};",
        f"static _Alignas(16) const uint8_t file[] = {numbers(content)};",
        f"static const int places[] = {numbers(places_of(content))};",
        f"static const int sizes[] = {numbers(sizes)};",
        "static const int types[] = "
        + numbers(TYPES.get(t.dtype, 0) for t in tensors)
        + ";",
        "static const int* const shapes[] = "
        + numbers(
            f"(const int[]){numbers((len(t.shape), *t.shape))}" for t in tensors
        )
        + ";",
        "static const int states[][2] = " + numbers(map(numbers, states)) + ";",
        "static const node_plan plans[] = {",
    ]
    for o, _ in operators:
        ends = (
            f"(const int[]){numbers((len(e), *e))}"
            for e in (o.inputs, o.outputs)
        )
        place = content.index(o.options)
        lines.append(
            f'{{"{o.custom}", {place}, {len(o.options)}, {", ".join(ends)}}},'
        )
    lines.append("};")
    bits = frames.reshape(len(frames), -1).view("uint32")
    lines.append(
        f"static const uint32_t given[][{bits.shape[1]}] = "
        + numbers(map(numbers, bits))
        + ";"
    )
    path.write_text("\n".join(lines))


def compile_for(folder, board):
    """An image with the library's sources, the host and a graph."""
    return run_image(
        board,
        folder / f"{board}.elf",
        *(*FLAGS, f"-I{folder}", *SOURCES, BOARD / "micro_host.c"),
    )


class Reference:
    """A streaming file in LiteRT with the delegate, frame by frame."""

    def __init__(self, content):
        self.file = flatbuffer.File(content)
        (signature,) = self.file.signatures
        self.runner = Runner(content)
        self.inputs, self.outputs = self.file.ends
        self.pairs = [
            (index, signature.outputs[name])
            for name, index in signature.inputs.items()
            if name in signature.outputs
        ]
        self.audio = signature.inputs["audio"]
        self.history = signature.inputs["log_mel/history"]

    def run(self, audio):
        """What the front end reads, and all outputs, of every frame."""
        tensors = self.file.tensors[0]
        values = {i: np.zeros(tensors[i].shape, "float32") for i in self.inputs}
        given, found = [], []
        hop = tensors[self.audio].shape[1]
        for i in range(FRAMES):
            values[self.audio] = audio[:1, i * hop : (i + 1) * hop]
            given.append(
                np.concatenate(
                    [values[self.history], values[self.audio]], axis=1
                )
            )
            outputs = self.runner(*(values[i] for i in self.inputs))
            found.append(dict(zip(self.outputs, outputs)))
            for to, source in self.pairs:
                values[to] = found[-1][source]
        return np.array(given, "float32"), found


def make_case(folder, kind, weights, units=12):
    """A folder with a graph, and what LiteRT computes of it."""
    path = folder / "model.tflite"
    keras_duspar.tflite.convert(
        make_model("kws", units, kind),
        path,
        streaming=True,
        ops="sparse",
        weights=weights,
    )
    content = path.read_bytes()
    reference = Reference(content)
    given, found = reference.run(make_audio(8000))
    operators = reference.file.custom_operators()
    made = {i for o, _ in operators for i in o.outputs}
    states = [pair for pair in reference.pairs if pair[1] in made]
    assert len(states) == (2 if kind == "spar" else 4)
    front_end = operators[0][0].inputs[0]
    write_graph(folder / "graph.h", content, states, front_end, given)
    return folder, states, found, reference.runner.operators()


@pytest.fixture(
    scope="module",
    params=[
        *(("duspar", w) for w in ("float32", "bfloat16", "int8")),
        ("spar", "float32"),
    ],
    ids="-".join,
)
def case(request, tmp_path_factory):
    return make_case(tmp_path_factory.mktemp("case"), *request.param)


@pytest.mark.parametrize("board", BOARDS)
def test_equals_the_delegate(case, board):
    folder, states, found, operators = case
    printed = compile_for(folder, board).splitlines()
    lines = [line.split() for line in printed]
    tensors = [line for line in lines if line[0] == "tensor"]
    expected = [(o, frame[o]) for frame in found for _, o in states]
    for (index, values), (_, number, *bits) in zip(
        expected, tensors, strict=True
    ):
        ours = np.array([int(b, 16) for b in bits], "uint32").view("float32")
        assert int(number) == index
        np.testing.assert_allclose(ours, values.ravel(), atol=1e-5)
    assert np.abs(expected[-1][1]).max() > 0.01
    counted = [line[1:] for line in lines if line[0] == "operator"][::-1]
    for line, o in zip(counted, operators, strict=True):
        nonzeros = [operand.nonzeros for operand in o.operands]
        known = [o.features, o.units, o.invocations, o.steps, *nonzeros]
        assert line[:2] == [o.layer, o.op]
        assert list(map(int, line[2:]))[: len(known)] == known


def test_needs_no_operating_system(tmp_path):
    """Nothing but mathematics and copying is asked of the C library."""
    gcc = program("arm-none-eabi-gcc", "gcc-arm-none-eabi")
    made = tmp_path / "all.o"
    options = [*BOARDS["m4"][0].split(), "-mthumb", "-mfloat-abi=hard", "-O2"]
    run(gcc, *options, *FLAGS, "-nostdlib", "-r", *SOURCES, "-o", made)
    wanted = run(
        program("arm-none-eabi-nm", "binutils-arm-none-eabi"), "-u", made
    )
    names = {line.split()[-1] for line in wanted.splitlines()}
    names = {name for name in names if not name.startswith("__aeabi_")}
    assert names <= {
        *("cos", "sin", "expf", "logf", "tanhf", "rintf"),
        *("memchr", "memcmp", "memcpy", "memmove", "memset"),
        *("strcmp", "strlen"),
    }


def test_messages_are_those_of_printf(tmp_path):
    """What a microcontroller has instead of `snprintf`, on this machine."""
    path = tmp_path / "writing.so"
    sources = [s for s in SOURCES if s.parent.name == "base"]
    run(compiler(), "-shared", "-fPIC", *FLAGS, *sources, "-o", path)
    write = ctypes.CDLL(str(path)).duspar_write
    write.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(64)

    def check(form, value, expected, size=64):
        length = write(room, ctypes.c_size_t(size), f"<{form}>".encode(), value)
        assert length == len(expected) + 2
        assert room.value.decode() == f"<{expected}>"[: size - 1]

    for number in (0, 7, -7, 2**31 - 1, -(2**31)):
        check("%d", ctypes.c_int(number), str(number))
    for number in (0, 10, 2**63 - 1, -(2**63)):
        check("%lld", ctypes.c_longlong(number), str(number))
    check("%zu", ctypes.c_size_t(2**64 - 1), str(2**64 - 1))
    check("%c", ctypes.c_int(ord("x")), "x")
    check("%s", ctypes.c_char_p(b"some words"), "some words")
    check("%s", ctypes.c_char_p(b"some words"), "some words", size=6)
    for number in (
        *(0.0, -0.0, 1.0, -2.5, 123456.0, 999999.7, 1e6, 3.25e-4, 1e-4, 9e-5),
        *(1.17549435e-38, 3.4e38, float("inf"), float("-inf"), float("nan")),
    ):
        check("%g", ctypes.c_double(number), f"{number:g}")


def main():
    """Prints instructions of our operators per hop, of the paper's size."""
    for kind in (("duspar", w) for w in ("float32", "bfloat16", "int8")):
        with tempfile.TemporaryDirectory() as folder:
            folder = make_case(pathlib.Path(folder), *kind, units=128)[0]
            found = [compile_for(folder, board) for board in BOARDS]
            counts = [re.search(r"instructions (\d+)", f)[1] for f in found]
            print(*kind, *counts, re.search("arena .*", found[0])[0])


if __name__ == "__main__":
    main()
