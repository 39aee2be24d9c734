"""The native library: recurrent layers in C, and a TFLite delegate."""

from keras_duspar.utils import lazy

lazy.attach(
    __name__,
    {
        ".counters": "Operand Operator new_handle operators reset",
        ".layer": "Layer",
        ".library": "kernels library_path load",
        ".training": "training_memory",
    },
)
