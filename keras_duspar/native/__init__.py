"""The native library: recurrent layers in C, and a TFLite delegate."""

from keras_duspar.native.counters import Operand
from keras_duspar.native.counters import Operator
from keras_duspar.native.counters import new_handle
from keras_duspar.native.counters import operators
from keras_duspar.native.counters import reset
from keras_duspar.native.layer import Layer
from keras_duspar.native.library import kernels
from keras_duspar.native.library import library_path
from keras_duspar.native.library import load
from keras_duspar.native.training import training_memory
