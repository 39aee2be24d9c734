"""Written by `python -m tests.stubs`: do not edit."""

from __future__ import annotations

from keras_duspar import audio as audio
from keras_duspar import callbacks as callbacks
from keras_duspar import cells as cells
from keras_duspar import layers as layers
from keras_duspar import losses as losses
from keras_duspar import metrics as metrics
from keras_duspar import micro as micro
from keras_duspar import models as models
from keras_duspar import native as native
from keras_duspar import profiling as profiling
from keras_duspar import quantization as quantization
from keras_duspar import streaming as streaming
from keras_duspar import tflite as tflite
from keras_duspar.cells import Cost as Cost
from keras_duspar.cells import DeltaGRUCell as DeltaGRUCell
from keras_duspar.cells import DuSpaRCell as DuSpaRCell
from keras_duspar.cells import DynamicGRUCell as DynamicGRUCell
from keras_duspar.cells import EGRUCell as EGRUCell
from keras_duspar.cells import IRNNCell as IRNNCell
from keras_duspar.cells import LiGRUCell as LiGRUCell
from keras_duspar.cells import MinGRUCell as MinGRUCell
from keras_duspar.cells import Operand as Operand
from keras_duspar.cells import RecurrentCell as RecurrentCell
from keras_duspar.cells import SpaRCell as SpaRCell
from keras_duspar.layers import DeltaGRU as DeltaGRU
from keras_duspar.layers import DuSpaR as DuSpaR
from keras_duspar.layers import DynamicGRU as DynamicGRU
from keras_duspar.layers import EGRU as EGRU
from keras_duspar.layers import IRNN as IRNN
from keras_duspar.layers import LiGRU as LiGRU
from keras_duspar.layers import MinGRU as MinGRU
from keras_duspar.layers import SpaR as SpaR
from keras_duspar.micro import export_c as export_c
from keras_duspar.profiling import profile as profile
from keras_duspar.quantization import quantize as quantize
from keras_duspar.rounding.scheme import QuantScheme as QuantScheme

__version__: str
