"""What a delegate has counted, read while the interpreter lives.

A delegate is made by LiteRT. It is found again by its handle:

    handle = native.new_handle()
    delegate = load_delegate(native.library_path(), {"handle": handle})
    interpreter = Interpreter(path, experimental_delegates=[delegate])
    ...
    native.operators(handle)
"""

import ctypes
import dataclasses
import itertools
import os

from keras_duspar.native import interface
from keras_duspar.native.library import load

_numbers = itertools.count()


@dataclasses.dataclass(frozen=True)
class Operand:
    """A vector whose zeros an operator skips, and what was counted of it.

    Args:
        name: `"e"` and `"y"` of DuSpaR, `"x"` of SpaR.
        size: Entries of the vector in one step.
        fan: Products that one entry costs if it is not zero.
        nonzeros: Entries that were not zero.
        entries: Entries in all, `size` times the steps.
    """

    name: str
    size: int
    fan: int
    nonzeros: int
    entries: int


@dataclasses.dataclass(frozen=True)
class Operator:
    """A recurrent layer of a TFLite model, and what it has counted.

    Args:
        layer: Name of the Keras layer.
        op: `"DuSpaR"` or `"SpaR"`.
        kernel: Name of the kernel that runs it, empty before tensors are
            allocated.
        in_use: Whether an interpreter holds the operator.
        features: Width of the input, 0 before tensors are allocated.
        units: Width of the output, 0 before tensors are allocated.
        bytes: Bytes of its weights in memory, as the kernel keeps them.
        invocations: How often it ran.
        steps: Time steps of all entries of the batches.
        operands: A tuple of `Operand`.
    """

    layer: str
    op: str
    kernel: str
    in_use: bool
    features: int
    units: int
    bytes: int
    invocations: int
    steps: int
    operands: tuple


def new_handle():
    """Makes a handle for a delegate, other than all before it.

    Returns:
        A string for the option `handle` of the delegate.

    Example:

    >>> keras_duspar.native.new_handle() == keras_duspar.native.new_handle()
    False
    """
    return f"keras_duspar-{os.getpid()}-{next(_numbers)}"


def _find(handle):
    library = load()
    pointer = library.duspar_delegate_find(str(handle).encode())
    if not pointer:
        raise ValueError(
            "`handle` must be that of a living delegate, made with "
            "`load_delegate(library_path(), {'handle': handle})`. Received: "
            f"handle={handle!r}"
        )
    return library, pointer


def operators(handle):
    """Reads what the operators of a delegate have counted.

    The counts of an operator belong together: they are those before or after
    an invocation, also while another thread runs the interpreter.

    Args:
        handle: The option `handle` with which the delegate was made.

    Returns:
        A list of `Operator`, in the model's order.
    """
    library, pointer = _find(handle)
    found = []
    for index in range(library.duspar_delegate_operator_count(pointer)):
        d = interface.OperatorDescription()
        status = library.duspar_delegate_operator(
            pointer, index, ctypes.byref(d)
        )
        interface.check(library, status == 0)
        operands = tuple(
            Operand(o.name.decode(), o.size, o.fan, o.nonzeros, o.entries)
            for o in d.operands[: d.operand_count]
        )
        values = {
            field.name: _plain(getattr(d, field.name), field.type)
            for field in dataclasses.fields(Operator)
            if field.name != "operands"
        }
        found.append(Operator(**values, operands=operands))
    return found


def _plain(value, kind):
    text = isinstance(value, bytes)
    return value.decode(errors="replace") if text else kind(value)


def reset(handle):
    """Sets the counts of all operators of a delegate to zero.

    An invocation that is running is counted when it ends.

    Args:
        handle: The option `handle` with which the delegate was made.
    """
    library, pointer = _find(handle)
    for index in range(library.duspar_delegate_operator_count(pointer)):
        status = library.duspar_delegate_reset(pointer, index)
        interface.check(library, status == 0)
