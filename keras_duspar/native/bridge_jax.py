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
    y, states, *occupancies = _run(
        options, sequences, tuple(states), tuple(weights)
    )
    return y, list(states), *occupancies


@functools.cache
def _register():
    for name in ("forward", "backward"):
        jax.ffi.register_ffi_target(
            f"duspar_{name}",
            jax.ffi.pycapsule(getattr(load(), f"duspar_xla_{name}")),
            platform="cpu",
        )


def _call(name, options, sizes, shapes, *arguments):
    call = jax.ffi.ffi_call(
        f"duspar_{name}",
        [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes],
        vmap_method="sequential",
    )
    width = np.float32(options.width).view("int32")
    options = [sizes.kind, sizes.threads, sizes.chunk, width]
    return call(np.array(options, "int32"), *arguments)


def _forward(options, x, states, weights, keep):
    units = states[0].shape[-1]
    sizes = training.describe(options, *x.shape, units)
    shapes = [(*x.shape[:2], units), *[s.shape for s in states]]
    if options.metered:
        shapes.append((options.metered,))
    if keep:
        shapes.append((training.reserve_size(sizes),))
    y, *rest = _call("forward", options, sizes, shapes, x, *states, *weights)
    new_states, rest = tuple(rest[: len(states)]), rest[len(states) :]
    occupancies = rest[: 1 if options.metered else 0]
    return (y, new_states, *occupancies), rest[len(occupancies) :]


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _run(options, x, states, weights):
    return _forward(options, x, states, weights, keep=False)[0]


def _run_forward(options, x, states, weights):
    outputs, (reserve,) = _forward(options, x, states, weights, keep=True)
    return outputs, (x, reserve, weights)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _gradients(options, kept, gradients):
    x, reserve, weights = kept
    dy, states, *occupancies = gradients
    sizes = training.describe(options, *x.shape, dy.shape[-1])
    shapes = [x.shape, *[s.shape for s in states], *[w.shape for w in weights]]
    given = (x, reserve, dy, *states, *occupancies, *weights)
    dx, *rest = _call("backward", options, sizes, shapes, *given)
    return dx, tuple(rest[: len(states)]), tuple(rest[len(states) :])


_run.defvjp(_run_forward, _gradients)
_gradients.defvjp(*[training.no_second_derivative] * 2)
