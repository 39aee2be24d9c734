"""Training passes of the native library, and how many threads they use.

The passes work on addresses of float32 numbers. Each backend has a bridge, a
file `bridge_*.py`, that makes a differentiable operation of them.
"""

import ctypes
import os
from typing import NamedTuple

from keras_duspar.native import interface
from keras_duspar.native.library import load

CHUNK = "KERAS_DUSPAR_TRAINING_CHUNK"

# Above this many bytes it takes longer to get memory and to fill it than to
# compute the steps of a short chunk, which stay in the cache, once more.
LARGE_RESERVE = 16 * 2**20
SHORT_CHUNK = 8


class Options(NamedTuple):
    """How the passes of a layer are computed.

    Args:
        kind: `"spar"` or `"duspar"`.
        threads: How many threads share the batch. Results do not depend on
            it.
        chunk: After how many steps states are kept; the steps between are
            computed again in the backward pass. With 0 everything is kept.
            `None` stands for a short chunk where much would be kept, else 0.
    """

    kind: str
    threads: int = 1
    chunk: int | None = None

    @property
    def states(self):
        """Number of states."""
        return 2 if self.kind == "duspar" else 1


def default_options(kind):
    """Options from the environment.

    Threads are as many as the process has processors, and not more than
    `OMP_NUM_THREADS`. `KERAS_DUSPAR_TRAINING_CHUNK` is the chunk if it is
    set.

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
    return Options(kind, threads, _number(CHUNK, None))


def _number(variable, default):
    text = os.environ.get(variable, "").strip()
    if not text:
        return default
    if text.isdecimal():
        return int(text)
    if variable != CHUNK:
        return default  # others' variable, in others' words
    raise ValueError(
        f"`{variable}` must be a number of time steps, or 0. Received: "
        f"{variable}={text!r}"
    )


def describe(options, batch, steps, features, units):
    """The `duspar_training` of a pass over sequences of these sizes."""
    training = interface.Training(
        kind=interface.KINDS[options.kind],
        threads=options.threads,
        batch=batch,
        steps=steps,
        features=features,
        units=units,
        chunk=options.chunk or 0,
    )
    if options.chunk is None and 4 * reserve_size(training) > LARGE_RESERVE:
        training.chunk = SHORT_CHUNK
    return training


def reserve_size(training):
    """Number of floats that a forward pass keeps for the backward pass."""
    library, floats = load(), ctypes.c_int64()
    status = library.duspar_train_reserve(
        ctypes.byref(training), ctypes.byref(floats)
    )
    interface.check(library, status == 0)
    return floats.value


def forward(training, weights, x, states, y, new_states, reserve):
    """`duspar_train_forward`: everything is an address or a list of them."""
    library = load()
    status = library.duspar_train_forward(
        ctypes.byref(training),
        _list(weights),
        x,
        *_two(states),
        y,
        *_two(new_states),
        reserve,
    )
    interface.check(library, status == 0)


def backward(
    training, weights, x, reserve, dy, new_states, dx, states, gradients
):
    """`duspar_train_backward`: as `forward()`, with addresses of gradients."""
    library = load()
    status = library.duspar_train_backward(
        ctypes.byref(training),
        _list(weights),
        x,
        reserve,
        dy,
        *_two(new_states),
        dx,
        *_two(states),
        _list(gradients),
    )
    interface.check(library, status == 0)


def _list(addresses):
    return (ctypes.c_void_p * len(addresses))(*addresses)


def _two(addresses):
    return (*addresses, None)[:2]
