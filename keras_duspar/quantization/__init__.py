"""Quantisation: models that are trained for, or rounded to, small numbers."""

from keras_duspar.quantization.calibration import calibrate
from keras_duspar.quantization.comparison import Comparison
from keras_duspar.quantization.comparison import Summary
from keras_duspar.quantization.comparison import TensorReport
from keras_duspar.quantization.comparison import compare
from keras_duspar.quantization.comparison import summary
from keras_duspar.quantization.dense import QuantizedDense
from keras_duspar.quantization.model import dequantize
from keras_duspar.quantization.model import freeze
from keras_duspar.quantization.model import quantize
from keras_duspar.rounding.scheme import QuantScheme
from keras_duspar.rounding.tfmot import load_tfmot
