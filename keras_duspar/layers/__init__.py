"""Recurrent layers, and the registry in which models look them up."""

import keras

from keras_duspar.layers.base import RecurrentLayer
from keras_duspar.layers.recurrent import IRNN
from keras_duspar.layers.recurrent import DeltaGRU
from keras_duspar.layers.recurrent import DuSpaR
from keras_duspar.layers.recurrent import DynamicGRU
from keras_duspar.layers.recurrent import LiGRU
from keras_duspar.layers.recurrent import MinGRU
from keras_duspar.layers.recurrent import SpaR
from keras_duspar.layers.registry import get
from keras_duspar.layers.registry import names
from keras_duspar.layers.registry import register

register("duspar", DuSpaR)
register("spar", SpaR)
register("gru", keras.layers.GRU)
register("mingru", MinGRU)
register("delta_gru", DeltaGRU)
register("dynamic_gru", DynamicGRU)
register("irnn", IRNN)
register("ligru", LiGRU)
