"""Training passes of the native library, and how many threads they use.

The passes work on arrays of float32 numbers. Each backend has a bridge, a
file `bridge_*.py`, that makes a differentiable operation of them; what it
offers stands at `keras_duspar.layers.native_loop.bridge()`.
"""

import ctypes
import functools
import os
from typing import NamedTuple

from keras_duspar import operators
from keras_duspar.native import interface
from keras_duspar.native.library import load
from keras_duspar.utils import checks

CHUNK = "KERAS_DUSPAR_TRAINING_CHUNK"
MEMORY = "KERAS_DUSPAR_TRAINING_MEMORY"
_MEANINGS = {CHUNK: "a number of time steps", MEMORY: "a number of bytes"}


class Options(NamedTuple):
    """How the passes of a layer are computed.

    Args:
        kind: `"spar"` or `"duspar"`.
        threads: How many threads share the batch. Results do not depend on
            it.
        chunk: After how many steps states are kept; the steps between are
            computed again in the backward pass. With 0 everything is kept,
            as far as `training_memory()` allows.
        width: The width of the meter that tells occupancies, a float, or
            0 for none.
    """

    kind: str
    threads: int = 1
    chunk: int = 0
    width: float = 0.0

    @property
    def states(self):
        """Number of states."""
        return len(operators.BY_KEY[self.kind].states)

    @property
    def metered(self):
        """Number of operands whose occupancy is asked for."""
        return len(operators.BY_KEY[self.kind].operands) if self.width else 0


def default_options(kind):
    """Options from the environment.

    Threads are as many as the process has processors, and not more than
    `OMP_NUM_THREADS`. `KERAS_DUSPAR_TRAINING_CHUNK` is the chunk if it is
    set, and `KERAS_DUSPAR_TRAINING_MEMORY` the limit of `training_memory()`.

    Args:
        kind: `"spar"` or `"duspar"`.

    Returns:
        `Options`.
    """
    try:
        threads = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        threads = os.cpu_count() or 1
    threads = min(threads, _number("OMP_NUM_THREADS", threads) or threads)
    limit = _number(MEMORY, None)
    if limit is not None:
        training_memory(limit)
    return Options(kind, threads, _number(CHUNK, 0))


def _number(variable, default):
    text = os.environ.get(variable, "").strip()
    if not text:
        return default
    if text.isdecimal():
        return int(text)
    if variable not in _MEANINGS:
        return default  # others' variable, in others' words
    raise ValueError(
        f"`{variable}` must be {_MEANINGS[variable]}, or 0. Received: "
        f"{variable}={text!r}"
    )


def training_memory(limit=None):
    """Memory that native training keeps from one step to the next.

    Between the forward and the backward pass of a layer the library keeps
    the gates of all time steps: 8 bytes for each unit and, with DuSpaR, each
    feature, per time step and sequence. It uses the same memory in every
    training step. What does not fit below the limit is computed again, which
    takes longer and gives the same.

    Args:
        limit: Bytes that may be kept. 0 frees everything and keeps nothing.
            Defaults to `None`, which leaves the limit; at first it is 1 GiB.

    Returns:
        The bytes that are kept now.

    Example:

    >>> keras_duspar.native.training_memory(2**30) <= 2**30
    True
    """
    if limit is not None and (not isinstance(limit, int) or limit < 0):
        raise checks.bad_value("limit", "a number of bytes, or `None`", limit)
    return _library().duspar_train_memory(-1 if limit is None else limit)


@functools.cache
def _library():
    library = load()  # which looks for the file every time
    reason = missing(library)
    if reason is not None:
        raise ImportError(f"Native training is not possible: {reason}.")
    return library


def missing(library):
    """What a loaded library lacks for training, or `None`."""
    if not interface.trains(library):
        return (
            "the native library was built without training (build it with "
            "`-DDUSPAR_TRAINING=ON`)"
        )
    if not library.duspar_train_kernel(0):
        return "the native library has no variant that trains"
    return None


def describe(options, batch, steps, features, units):
    """The `duspar_training` of a pass over sequences of these sizes."""
    return interface.Training(
        kind=interface.KINDS[options.kind],
        threads=options.threads,
        batch=batch,
        steps=steps,
        features=features,
        units=units,
        chunk=options.chunk,
    )


def reserve_size(training):
    """Number of floats that a forward pass keeps for the backward pass."""
    floats = ctypes.c_int64()
    _run("reserve", training, ctypes.byref(floats))
    return floats.value


def forward(options, empty, x, states, weights, keep=True):
    """Runs `duspar_train_forward` on arrays or tensors.

    Args:
        options: `Options`.
        empty: Function that makes an array of a shape, uninitialized.
        x: Array, the input.
        states: List of the initial states.
        weights: List of the weights.
        keep: Boolean, whether a backward pass will follow. Default: `True`.

    Returns:
        A tuple of the output, the list of final states, the list of the array
        of occupancies (empty if no meter is asked for) and what the backward
        pass needs, or `None`.
    """
    units = states[0].shape[-1]
    training = describe(options, *x.shape, units)
    y = empty((*x.shape[:2], units))
    new_states = [empty(state.shape) for state in states]
    reserve = empty((reserve_size(training),)) if keep else None
    told = [empty((options.metered,))] if options.metered else []
    _meter(training, options, *told)
    _run(
        "forward",
        training,
        _list(weights),
        _address(x),
        *_two(states),
        _address(y),
        *_two(new_states),
        _address(reserve),
    )
    return y, new_states, told, reserve


def backward(options, empty, x, reserve, dy, new_states, told, weights):
    """Runs `duspar_train_backward`: as `forward()`, with gradients.

    Returns:
        A tuple of the gradient of the input and the lists of those of the
        initial states and of the weights.
    """
    training = describe(options, *x.shape, dy.shape[-1])
    dx = empty(x.shape)
    states = [empty(state.shape) for state in new_states]
    gradients = [empty(weight.shape) for weight in weights]
    _meter(training, options, None, *told)
    _run(
        "backward",
        training,
        _list(weights),
        *map(_address, (x, reserve, dy)),
        *_two(new_states),
        _address(dx),
        *_two(states),
        _list(gradients),
    )
    return dx, states, gradients


def _meter(training, options, *occupancies):
    """Has a pass tell occupancies, or take their gradients."""
    if options.metered:
        meter = interface.Meter(options.width, *_two(occupancies))
        training.meter = ctypes.pointer(meter)


def _run(name, training, *arguments):
    library = _library()
    run = getattr(library, f"duspar_train_{name}")
    interface.check(library, run(ctypes.byref(training), *arguments) == 0)


def _address(array):
    if array is None:
        return None
    is_tensor = hasattr(array, "data_ptr")
    return array.data_ptr() if is_tensor else array.ctypes.data


def _list(arrays):
    return (ctypes.c_void_p * len(arrays))(*map(_address, arrays))


def _two(arrays):
    return (*map(_address, arrays), None)[:2]


def no_second_derivative(*_):
    """What the gradient of a gradient is."""
    raise NotImplementedError(
        "Native training has no second derivatives. Give the layer "
        "`implementation='keras'`."
    )
