"""DuSpaR: recurrent layers that skip the zeros of their inputs, for Keras 3."""

from keras_duspar import startup  # before Keras is imported

# isort: split
from keras_duspar import audio
from keras_duspar import callbacks
from keras_duspar import layers
from keras_duspar import losses
from keras_duspar import metrics
from keras_duspar import models
from keras_duspar import native
from keras_duspar import profiling
from keras_duspar import quantization
from keras_duspar import streaming
from keras_duspar import tflite
from keras_duspar.cells import Cost
from keras_duspar.cells import DeltaGRUCell
from keras_duspar.cells import DuSpaRCell
from keras_duspar.cells import DynamicGRUCell
from keras_duspar.cells import IRNNCell
from keras_duspar.cells import LiGRUCell
from keras_duspar.cells import MinGRUCell
from keras_duspar.cells import Operand
from keras_duspar.cells import RecurrentCell
from keras_duspar.cells import SpaRCell
from keras_duspar.layers import IRNN
from keras_duspar.layers import DeltaGRU
from keras_duspar.layers import DuSpaR
from keras_duspar.layers import DynamicGRU
from keras_duspar.layers import LiGRU
from keras_duspar.layers import MinGRU
from keras_duspar.layers import SpaR
from keras_duspar.profiling import profile
from keras_duspar.quantization import QuantScheme
from keras_duspar.quantization import quantize

__version__ = "0.1.0"
