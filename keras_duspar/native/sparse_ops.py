"""The cells that the native library computes as one operator.

It runs such an operator in a `.tflite` file, where it skips the zeros of its
operands, and it trains layers over such a cell. Conversion and training ask
this registry and know no cell by name.
"""

from dataclasses import dataclass

from keras_duspar import operators
from keras_duspar.cells import DuSpaRCell
from keras_duspar.cells import SpaRCell
from keras_duspar.utils import checks

_SPARSE_OPS = {}


@dataclass(frozen=True)
class SparseOp:
    """An operator that computes all time steps of a recurrent layer.

    Its inputs are the sequences of shape `(batch, timesteps, features)`, the
    states of the cell in their order, the kernels, the biases and, for int8
    kernels, a scale for every column of every kernel; for operands that are
    rounded, a vector of their scales. Its outputs are the sequences and the
    new states.

    Args:
        name: String, the operator's name in the file.
        kernels: List of variables of shape `(inputs, outputs)`.
        biases: List of variables.
        operands: List of pairs of a cell and the name of its operand, in the
            order of the scales. Default: `()`, for cells that are not
            quantized.
    """

    name: str
    kernels: list
    biases: list
    operands: list = ()


def register_sparse_op(cell_class):
    """Decorator: tells which operator computes a cell.

    `convert()` then writes the operator, which the library that runs the file
    must know, and layers train with it where they can. A subclass of a
    registered cell, which may compute something else, is not registered with
    it.

    Args:
        cell_class: A subclass of `keras_duspar.RecurrentCell`.

    Returns:
        A decorator for a function that takes the built cell and returns its
        `SparseOp`.

    Example:

    >>> class MyCell(keras_duspar.SpaRCell):
    ...     pass
    >>> @keras_duspar.tflite.register_sparse_op(MyCell)
    ... def my_cell(cell):
    ...     return keras_duspar.tflite.SparseOp(
    ...         "SpaR",
    ...         [cell.gate_kernel, cell.candidate_kernel],
    ...         [cell.gate_bias])
    """
    if not isinstance(cell_class, type):
        raise checks.bad_value("cell_class", "a class", cell_class)

    def decorate(function):
        _SPARSE_OPS[cell_class] = function
        return function

    return decorate


def has_sparse_op(cell):
    """Whether a cell, built or not, has a `SparseOp`."""
    return type(cell) in _SPARSE_OPS


def sparse_op_of(cell):
    """The `SparseOp` of a built cell, or `None` if it has none."""
    function = _SPARSE_OPS.get(type(cell))
    return function(cell) if function else None


def _register_own(cell_class, name):
    """Registers a cell that has the weights of an operator of the table."""
    operator = operators.BY_NAME[name]

    @register_sparse_op(cell_class)
    def sparse_op(cell):
        return SparseOp(
            name,
            [_find(cell, weight.name) for weight in operator.kernels],
            [_find(cell, weight.name) for weight in operator.biases],
            [(_find(cell, operand.cell), "x") for operand in operator.operands],
        )


def _find(cell, path):
    """What a cell has at a path such as `"feedback/gate_kernel"`."""
    for name in filter(None, path.split("/")):
        cell = getattr(cell, name)
    return cell


_register_own(SpaRCell, "SpaR")
_register_own(DuSpaRCell, "DuSpaR")
