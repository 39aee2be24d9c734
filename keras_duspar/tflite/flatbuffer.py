"""Reads what a `.tflite` file holds, with nothing but the standard library.

A file is a FlatBuffer: tables of fields that are found by their number. Only
the fields that this package asks for are known here. Runtimes come without a
reader of their own, and a runner should need no more than a runtime.
"""

import functools
import pathlib
import struct
from dataclasses import dataclass

import numpy as np

CUSTOM = 32  # the code of every operator that is not built in
FRONT_END = "DuSpaRLogMel"  # the one of these that has no sparse operands

_TYPES = {
    0: "float32",
    1: "float16",
    2: "int32",
    3: "uint8",
    4: "int64",
    5: "string",
    6: "bool",
    7: "int16",
    8: "complex64",
    9: "int8",
    10: "float64",
}


class _Table:
    """A table at a position in the bytes of a file."""

    def __init__(self, data, position):
        self._data, self._position = data, position

    def _unpack(self, form, position):
        return struct.unpack_from(form, self._data, position)[0]

    def _field(self, number):
        """Position of a field, or `None` if it has its default."""
        vtable = self._position - self._unpack("<i", self._position)
        if 4 + 2 * number >= self._unpack("<H", vtable):
            return None
        offset = self._unpack("<H", vtable + 4 + 2 * number)
        return self._position + offset if offset else None

    def _target(self, number):
        """Position of what a field points at, or `None`."""
        field = self._field(number)
        return None if field is None else field + self._unpack("<I", field)

    def number(self, number, form="<I"):
        field = self._field(number)
        return 0 if field is None else self._unpack(form, field)

    def array(self, number, dtype):
        start = self._target(number)
        if start is None:
            return np.zeros(0, dtype)
        count = self._unpack("<I", start)
        return np.frombuffer(self._data, dtype, count, start + 4)

    def text(self, number):
        return self.array(number, "u1").tobytes().decode()

    def table(self, number):
        position = self._target(number)
        return None if position is None else _Table(self._data, position)

    def tables(self, number):
        start = self._target(number)
        offsets = self.array(number, "<u4")
        return [
            _Table(self._data, start + 4 * (i + 1) + int(offset))
            for i, offset in enumerate(offsets)
        ]


@dataclass
class Tensor:
    """A tensor of a graph; a size of -1 in `shape` may vary."""

    name: str
    shape: tuple
    dtype: str
    constant: bool


@dataclass
class Operator:
    """An operator: `custom` is the name of one that is not built in."""

    code: int
    custom: str
    inputs: list
    outputs: list
    options: bytes


@dataclass
class Signature:
    """Names of inputs and outputs, and the numbers of their tensors."""

    name: str
    inputs: dict
    outputs: dict


def read(path):
    """Reads and parses a `.tflite` file.

    Args:
        path: String or `pathlib.Path`.

    Returns:
        A `File`.
    """
    path = pathlib.Path(path)
    if not path.is_file():
        raise ValueError(
            f"`path` must be a .tflite file. Received: path={str(path)!r}, "
            "where there is no file."
        )
    return File(path.read_bytes(), repr(str(path)))


class File:
    """A parsed `.tflite` file.

    Args:
        data: The bytes of the file.
        name: String, what error messages call it.

    Attributes:
        graphs: List of lists of `Operator`, the main graph first.
        tensors: List of lists of `Tensor`, for every graph.
        signatures: List of `Signature`, at least one.
        metadata: Dictionary of name to bytes.
    """

    def __init__(self, data, name="the data"):
        if bytes(data[4:8]) != b"TFL3":
            raise ValueError(
                f"`path` must be a .tflite file. Received: {name}, whose "
                "contents are something else."
            )
        self.size = len(data)
        try:
            self._parse(data)
        except (struct.error, ValueError, IndexError) as e:
            raise ValueError(
                f"`path` must be a whole .tflite file. Received: {name}, "
                f"which is cut off or damaged ({e})."
            ) from e

    def _parse(self, data):
        model = _Table(data, struct.unpack_from("<I", data)[0])
        self._buffers = model.tables(4)
        codes = [_code(table) for table in model.tables(1)]
        graphs = model.tables(2)
        self.tensors = [
            [self._tensor(t) for t in graph.tables(0)] for graph in graphs
        ]
        self.graphs = [
            [_operator(table, codes) for table in graph.tables(3)]
            for graph in graphs
        ]
        self.signatures = [_signature(table) for table in model.tables(7)]
        if not self.signatures:
            self.signatures = [self._unnamed_signature(graphs[0])]
        self.metadata = {
            table.text(0): self._buffer(table.number(1)).tobytes()
            for table in model.tables(6)
        }

    def _buffer(self, number):
        return self._buffers[number].array(0, "u1")

    def _tensor(self, table):
        shape = table.array(7, "<i4")
        if not len(shape):
            shape = table.array(0, "<i4")
        return Tensor(
            table.text(3),
            tuple(int(size) for size in shape),
            _TYPES.get(table.number(1, "<b"), "other"),
            len(self._buffer(table.number(2))) > 0,
        )

    def _unnamed_signature(self, graph):
        """That of a file without signatures, by the names of the tensors."""

        def names(number):
            indices = graph.array(number, "<i4").tolist()
            return {self.tensors[0][i].name: i for i in indices}

        return Signature("", names(1), names(2))

    @property
    def operators(self):
        """All operators of all graphs."""
        return [operator for graph in self.graphs for operator in graph]

    def custom_operators(self):
        """Pairs of a custom operator and the tensors of its graph."""
        return [
            (operator, tensors)
            for graph, tensors in zip(self.graphs, self.tensors)
            for operator in graph
            if operator.code == CUSTOM
        ]


def _code(table):
    # Codes that do not fit into the old field are in the new one.
    return max(table.number(0, "<b"), table.number(3, "<i")), table.text(1)


def _operator(table, codes):
    code, custom = codes[table.number(0)]
    return Operator(
        code,
        custom,
        table.array(1, "<i4").tolist(),
        table.array(2, "<i4").tolist(),
        table.array(5, "u1").tobytes(),
    )


def _signature(table):
    def names(number):
        return {t.text(0): t.number(1) for t in table.tables(number)}

    return Signature(table.text(2), names(0), names(1))


@functools.cache
def operator_names():
    """Names of the built-in operators by code, if a schema is installed."""
    for package in ("ai_edge_litert", "tensorflow.lite.python"):
        try:
            schema = __import__(
                f"{package}.schema_py_generated", fromlist=["BuiltinOperator"]
            )
        except ImportError:
            continue
        return {
            code: name
            for name, code in vars(schema.BuiltinOperator).items()
            if isinstance(code, int)
        }
    return {}


def operator_name(operator):
    """Readable name of an operator."""
    if operator.code == CUSTOM:
        return operator.custom
    return operator_names().get(operator.code, f"builtin {operator.code}")
