"""Programs of the small machine in `runtime/machine.h`."""

import dataclasses
import pathlib
import re

import numpy as np

RUNTIME = pathlib.Path(__file__).parent / "runtime"
# The parts of the machine, in the order in which they are compiled.
SOURCES = (
    "machine.h",
    "functions.c",
    "products.c",
    "layers.c",
    "vectors.c",
    "audio.c",
    "windows.c",
    "run.c",
)
_COUNTS = ("OPERATIONS", "PRODUCTS")
_MACHINE = (RUNTIME / "machine.h").read_text(encoding="utf-8")
# Names of operations, products and functions; their places are their numbers.
OPERATIONS, PRODUCTS, UNARY, BINARY = (
    [n for n in re.findall(r"\w+", names) if n not in _COUNTS]
    for names in re.findall(r"^enum \{([^=}]*)\};", _MACHINE, re.M)
)
CODES = {
    name: place
    for names in (OPERATIONS, PRODUCTS, UNARY, BINARY)
    for place, name in enumerate(names)
}
TILE = int(re.search(r"TILE = (\d+)", _MACHINE)[1])


@dataclasses.dataclass(eq=False)
class Buffer:
    """A part of the machine's memory.

    Args:
        size: Integer, its floats.
        lasting: Boolean, whether it is a state.
    """

    size: int
    lasting: bool = False
    first: int | None = None  # the operations between which it is used
    last: int = 0
    address: int | None = None


@dataclasses.dataclass(frozen=True)
class Vector:
    """Where a vector of the model lies, and when it is new.

    Args:
        buffer: The `Buffer`.
        size: Integer, its entries.
        clock: Integer, the clock that ticks when it is new.
        offset: Integer, its first entry in the buffer. Default: 0.
    """

    buffer: Buffer
    size: int
    clock: int = 0
    offset: int = 0

    def part(self, start, size):
        """A part of the vector."""
        return dataclasses.replace(self, offset=self.offset + start, size=size)

    def at(self, clock):
        """The vector at another clock."""
        return dataclasses.replace(self, clock=clock)


@dataclasses.dataclass(frozen=True)
class Table:
    """The place of a table, counted from the end of the operations."""

    place: int


class Program:
    """Operations, constants and memory of a model.

    Attributes:
        operations: List of name, clock and arguments of every operation.
        rates: List of how often each clock ticks per hop.
        macs: Float, multiply-accumulates per hop if nothing is zero.
        operands: List of the layer's and the operand's name, of every operand
            whose non-zero entries are counted.
        entries: Integer, the entries of the largest operand.
        sums: Integer, the columns of the widest product, or its inputs.
    """

    def __init__(self):
        self.operations, self.rates = [], [1.0]
        self.macs, self.operands = 0.0, []
        self.entries = self.sums = 1
        self.tables, self._table_size = [], 0
        self.pools = {
            "floats": (np.float32, []),
            "halves": (np.uint16, []),
            "bytes": (np.int8, []),
        }
        self._sizes = dict.fromkeys(self.pools, 0)
        self._known = {}
        self._buffers = []
        self.memory = self.states = 0

    def vector(self, size, clock=0, lasting=False):
        """A new vector."""
        self._buffers.append(Buffer(size, lasting))
        return Vector(self._buffers[-1], size, clock)

    def clock(self, rate):
        """A new clock, which ticks that often per hop."""
        self.rates.append(rate)
        if len(self.rates) > 32:
            raise ValueError(
                "`model` has more than 31 layers that pass on only some of "
                "their time steps, which is more than a program can have."
            )
        return len(self.rates) - 1

    def constant(self, values, pool="floats"):
        """The place of an array in a pool; equal ones are there once."""
        dtype, arrays = self.pools[pool]
        values = np.ascontiguousarray(values, dtype).ravel()
        key = pool, values.tobytes()
        if key not in self._known:
            self._known[key] = self._sizes[pool]
            arrays.append(values)
            self._sizes[pool] += values.size
        return self._known[key]

    def table(self, values):
        """The place of integers behind the operations, known at the end."""
        place = Table(self._table_size)
        self.tables.append(np.ravel(values).tolist())
        self._table_size += len(self.tables[-1])
        return place

    def emit(self, name, clock, *arguments):
        """Appends an operation; vectors among the arguments are noted."""
        here = len(self.operations)
        for argument in arguments:
            if isinstance(argument, Vector):
                buffer = argument.buffer
                buffer.first = here if buffer.first is None else buffer.first
                buffer.last = here
        self.operations.append((name, clock, arguments))

    def finish(self, outputs):
        """Places all buffers: the states first, then what lasts for a hop."""
        for output in outputs:
            output.buffer.last = len(self.operations)
        used = [b for b in self._buffers if b.first is not None or b.lasting]
        for buffer in used:
            if buffer.lasting:
                buffer.address = self.states
                self.states += buffer.size
        self.memory = self.states
        placed = []
        for buffer in sorted(used, key=lambda b: -b.size):
            if buffer.lasting:
                continue
            at = self.states
            for other in sorted(placed, key=lambda b: b.address):
                apart = buffer.last < other.first or other.last < buffer.first
                if apart or other.address + other.size <= at:
                    continue
                if at + buffer.size <= other.address:
                    break
                at = other.address + other.size
            buffer.address = at
            placed.append(buffer)
            self.memory = max(self.memory, at + buffer.size)

    def place(self, vector):
        """Where a vector lies, once the program is finished."""
        return vector.buffer.address + vector.offset

    def words(self):
        """Lists of the words of every operation, in order."""
        behind = sum(3 + len(a) for _, _, a in self.operations)

        def word(argument):
            if isinstance(argument, Vector):
                return self.place(argument)
            if isinstance(argument, Table):
                return behind + argument.place
            if isinstance(argument, str):
                return CODES[argument]
            return -1 if argument is None else int(argument)

        return [
            [CODES[name], clock, 3 + len(arguments), *map(word, arguments)]
            for name, clock, arguments in self.operations
        ]

    def pool(self, name):
        """All constants of a pool as one array."""
        dtype, arrays = self.pools[name]
        return np.concatenate([np.zeros(0, dtype), *arrays])
