"""What Keras' backends can and cannot do: elsewhere none is known by name.

The exceptions are `native/bridge_*.py`, one file per backend, and TensorFlow's
own tools: `tflite/` and `rounding/tfmot.py`.
"""

import keras

# The modules that call the native library, in `keras_duspar/native`.
BRIDGES = {
    "jax": "bridge_jax",
    "tensorflow": "bridge_tensorflow",
    "torch": "bridge_torch",
}


def is_tensorflow():
    """Whether Keras computes with TensorFlow, as TensorFlow's tools need it."""
    return keras.backend.backend() == "tensorflow"


def compile_options(static):
    """Arguments of `compile()` for a model that only predicts.

    Args:
        static: Boolean, whether all tensors have the same shapes in every
            call. JAX compiles nothing else.
    """
    jax = keras.backend.backend() == "jax"
    return {
        "run_eagerly": jax and not static,
        "jit_compile": jax and static,
    }


def sync_variables(model):
    """Makes a model's variables readable in the middle of an epoch.

    On JAX the training loop holds their values itself.
    """
    if keras.backend.backend() == "jax":
        model.jax_state_sync()
