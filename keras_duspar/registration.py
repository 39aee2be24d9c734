"""Imports every module whose classes Keras must know to load a model."""

from keras_duspar.audio import framing
from keras_duspar.audio import log_mel
from keras_duspar.audio import pooling
from keras_duspar.audio import spec_augment
from keras_duspar.layers import registry
from keras_duspar.losses import ctc
from keras_duspar.losses import enhancement
from keras_duspar.losses import pmsqe
from keras_duspar.losses import si_snr
from keras_duspar.losses import stoi
from keras_duspar.models import stack
from keras_duspar.quantization import dense
from keras_duspar.rounding import tfmot
