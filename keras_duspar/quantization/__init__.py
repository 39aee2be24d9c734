"""Quantisation: models that are trained for, or rounded to, small numbers."""

from keras_duspar.quantization.calibration import calibrate
from keras_duspar.quantization.dense import QuantizedDense
from keras_duspar.quantization.model import dequantize
from keras_duspar.quantization.model import freeze
from keras_duspar.quantization.model import quantize
from keras_duspar.quantization.report import Comparison
from keras_duspar.quantization.report import Summary
from keras_duspar.quantization.report import TensorReport
from keras_duspar.quantization.report import compare
from keras_duspar.quantization.report import summary
from keras_duspar.quantization.tfmot import load_tfmot
from keras_duspar.rounding.scheme import QuantScheme
