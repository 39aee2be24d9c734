"""Native training on JAX: calls from compiled code, without Python."""

import functools

import jax
import jax.numpy as jnp
import keras
import numpy as np

from keras_duspar.native import training
from keras_duspar.native.library import load

SUPPORTS_JIT = True


def obstacle(sequences):
    if not hasattr(jax, "ffi"):
        return f"JAX {jax.__version__} has no `jax.ffi`"
    if jax.default_backend() != "cpu":
        return f"JAX computes on {jax.default_backend()!r}, not on the CPU"
    if keras.distribution.distribution() is not None:
        return "`keras.distribution` divides the computation among devices"
    return None


def run(options, sequences, states, weights):
    _register()
    y, states = _run(options, sequences, tuple(states), tuple(weights))
    return y, list(states)


@functools.cache
def _register():
    for name in ("forward", "backward"):
        jax.ffi.register_ffi_target(
            f"duspar_{name}",
            jax.ffi.pycapsule(getattr(load(), f"duspar_xla_{name}")),
            platform="cpu",
        )


def _call(name, sizes, shapes, *arguments):
    call = jax.ffi.ffi_call(
        f"duspar_{name}",
        [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes],
        vmap_method="sequential",
    )
    options = np.array([sizes.kind, sizes.threads, sizes.chunk], "int32")
    return call(options, *arguments)


def _forward(options, x, states, weights, keep):
    units = states[0].shape[-1]
    sizes = training.describe(options, *x.shape, units)
    shapes = [(*x.shape[:2], units), *[s.shape for s in states]]
    if keep:
        shapes.append((training.reserve_size(sizes),))
    y, *rest = _call("forward", sizes, shapes, x, *states, *weights)
    return (y, tuple(rest[: len(states)])), rest[len(states) :]


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _run(options, x, states, weights):
    return _forward(options, x, states, weights, keep=False)[0]


def _run_forward(options, x, states, weights):
    outputs, (reserve,) = _forward(options, x, states, weights, keep=True)
    return outputs, (x, reserve, weights)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _gradients(options, kept, gradients):
    x, reserve, weights = kept
    dy, states = gradients
    sizes = training.describe(options, *x.shape, dy.shape[-1])
    shapes = [x.shape, *[s.shape for s in states], *[w.shape for w in weights]]
    dx, *rest = _call(
        "backward", sizes, shapes, x, reserve, dy, *states, *weights
    )
    return dx, tuple(rest[: len(states)]), tuple(rest[len(states) :])


_run.defvjp(_run_forward, _gradients)
_gradients.defvjp(*[training.no_second_derivative] * 2)
