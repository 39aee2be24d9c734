"""The sparse operators: one table, from which Python and C take them.

An operator computes all time steps of a recurrent layer in the native library.
It consists of sparsifying cells: SpaR of one, DuSpaR of two. A `.tflite` file
and the training passes hold the weights in the order of this table.

The C library compiles the same table from headers that this module writes:

    python keras_duspar/operators.py tflite

Only the standard library is imported here, so that everything else can ask.
"""

import pathlib
import sys
from dataclasses import dataclass

# What widths are made of: the width of the input and that of the output.
FEATURES = "features"
UNITS = "units"

# What a weight is to its cell.
GATE_KERNEL = "gate_kernel"
CANDIDATE_KERNEL = "candidate_kernel"
GATE_BIAS = "gate_bias"
OFFSET = "offset"  # added to the state where others read it


@dataclass(frozen=True)
class State:
    """A state of an operator.

    Args:
        name: String, such as `"f"`.
        width: `FEATURES` or `UNITS`.
    """

    name: str
    width: str


@dataclass(frozen=True)
class Weight:
    """A weight of an operator.

    Args:
        name: String, where the Keras cell has it: `"feedback/gate_kernel"` is
            `cell.feedback.gate_kernel`.
        role: `GATE_KERNEL`, `CANDIDATE_KERNEL`, `GATE_BIAS` or `OFFSET`.
        cell: Integer, the number of the sparsifying cell that it belongs to.
        shape: Tuple of `FEATURES` and `UNITS`.
    """

    name: str
    role: str
    cell: int
    shape: tuple

    @property
    def is_kernel(self):
        """Whether it is a matrix, which int8 weights give scales."""
        return self.role in (GATE_KERNEL, CANDIDATE_KERNEL)

    @property
    def scale_name(self):
        """Name of a kernel's scales, one per output."""
        return self.name.replace("kernel", "scale")


@dataclass(frozen=True)
class Operand:
    """A vector whose zeros an operator skips.

    Args:
        name: String, such as `"e"`.
        size: `FEATURES` or `UNITS`, its entries in one time step.
        outputs: `FEATURES` or `UNITS`, the width of the two kernels that it is
            multiplied with. An entry that is not zero costs twice as many MACs.
        cell: String, where the Keras cell has the cell that reads it, or empty
            for the cell itself.
    """

    name: str
    size: str
    outputs: str
    cell: str


@dataclass(frozen=True)
class Operator:
    """An operator of the native library.

    Args:
        name: String, its name in a `.tflite` file.
        kind: Integer, its number in C.
        states: Tuple of `State`.
        weights: Tuple of `Weight`, in order.
        operands: Tuple of `Operand`, one per sparsifying cell.
    """

    name: str
    kind: int
    states: tuple
    weights: tuple
    operands: tuple

    @property
    def key(self):
        """The name in lower case, with which Python's functions are called."""
        return self.name.lower()

    @property
    def kernels(self):
        """The weights that are matrices."""
        return tuple(w for w in self.weights if w.is_kernel)

    @property
    def biases(self):
        """The weights that are vectors."""
        return tuple(w for w in self.weights if not w.is_kernel)


def _kernels(place, cell, shape):
    """The two kernels of a sparsifying cell."""
    roles = (GATE_KERNEL, CANDIDATE_KERNEL)
    return [Weight(f"{place}{role}", role, cell, shape) for role in roles]


OPERATORS = (
    Operator(
        name="SpaR",
        kind=0,
        states=(State("f", UNITS),),
        weights=(
            *_kernels("", 0, (FEATURES, UNITS)),
            Weight("gate_bias", GATE_BIAS, 0, (UNITS,)),
        ),
        operands=(Operand("x", FEATURES, UNITS, ""),),
    ),
    Operator(
        name="DuSpaR",
        kind=1,
        states=(State("f", UNITS), State("g", FEATURES)),
        weights=(
            *_kernels("feedforward/", 0, (FEATURES, UNITS)),
            *_kernels("feedback/", 1, (UNITS, FEATURES)),
            Weight("feedforward/gate_bias", GATE_BIAS, 0, (UNITS,)),
            Weight("feedback/gate_bias", GATE_BIAS, 1, (FEATURES,)),
            Weight("feedforward_bias", OFFSET, 0, (UNITS,)),
            Weight("feedback_bias", OFFSET, 1, (FEATURES,)),
        ),
        operands=(
            Operand("e", FEATURES, UNITS, "feedforward"),
            Operand("y", UNITS, FEATURES, "feedback"),
        ),
    ),
)

BY_NAME = {operator.name: operator for operator in OPERATORS}
BY_KEY = {operator.key: operator for operator in OPERATORS}


def sizes(shape, features, units):
    """The numbers that a shape stands for.

    Args:
        shape: Tuple of `FEATURES` and `UNITS`.
        features: Integer, the width of the input.
        units: Integer, the width of the output.

    Returns:
        A tuple of integers.

    Example:

    >>> weight = keras_duspar.operators.BY_NAME["SpaR"].weights[0]
    >>> keras_duspar.operators.sizes(weight.shape, features=3, units=2)
    (3, 2)
    """
    values = {FEATURES: features, UNITS: units}
    return tuple(values[width] for width in shape)


# ---- The header of the C library --------------------------------------------

_LETTERS = {FEATURES: "N", UNITS: "M"}
_TABLE = """\
/* Written by keras_duspar/operators.py, which is the place for changes. Only
 * operators.c includes this. Widths: N features, M units. */
/* clang-format off */
static const duspar_op duspar_ops[] = {
"""
_WEIGHTS = """\
/* The order of an operator's weights, in training and in a .tflite file. N is
 * the number of features, M that of units.
 *
 * Written by keras_duspar/operators.py, which is the place for changes. */
#ifndef DUSPAR_WEIGHTS_H_
#define DUSPAR_WEIGHTS_H_
/* clang-format off */
"""


def c_headers():
    """The table in C: texts by their paths in `tflite/`."""
    return {
        "src/layer/operators_table.h": _c_table(),
        "include/duspar/weights.h": _c_weights(),
    }


def _c_weights():
    lines = [_WEIGHTS]
    for operator in OPERATORS:
        prefix = f"DUSPAR_{operator.name.upper()}"
        lines.append(f"\nenum {{ /* {operator.name} */\n")
        for place, weight in enumerate(operator.weights):
            name = weight.name.replace("/", "_").upper()
            shape = ", ".join(_LETTERS[width] for width in weight.shape)
            lines.append(f"  {prefix}_{name} = {place}, /* ({shape}) */\n")
        lines.append(f"  {prefix}_WEIGHTS = {len(operator.weights)}\n}};\n")
    lines.append("\n#endif /* DUSPAR_WEIGHTS_H_ */\n")
    return "".join(lines)


def _c_table():
    lines = [_TABLE]
    for operator in OPERATORS:
        kind = f"DUSPAR_KIND_{operator.name.upper()}"
        lines.append(f'  [{kind}] = {{"{operator.name}", {kind},\n')
        for rows in (operator.states, operator.weights, operator.operands):
            lines.append(f"    {len(rows)}, {{\n")
            lines += [f"      {{{_c_row(row)}}},\n" for row in rows]
            lines.append("    },\n")
        lines.append("  },\n")
    lines.append("};\n")
    return "".join(lines)


def _c_row(row):
    name = row.name.replace("/", ".")
    if isinstance(row, State):
        return f"\"{name}\", '{_LETTERS[row.width]}'"
    if isinstance(row, Operand):
        size, outputs = _LETTERS[row.size], _LETTERS[row.outputs]
        return f"\"{name}\", '{size}', '{outputs}'"
    shape = "".join(_LETTERS[width] for width in row.shape)
    return f'"{name}", DUSPAR_{row.role.upper()}, {row.cell}, "{shape}"'


if __name__ == "__main__":
    for path, text in c_headers().items():
        (pathlib.Path(sys.argv[1]) / path).write_text(text, encoding="utf-8")
