"""Recurrent layers, and the registry in which models look them up."""

import keras

from keras_duspar.layers.base import RecurrentLayer
from keras_duspar.layers.delta_gru import DeltaGRU
from keras_duspar.layers.duspar import DuSpaR
from keras_duspar.layers.dynamic_gru import DynamicGRU
from keras_duspar.layers.irnn import IRNN
from keras_duspar.layers.ligru import LiGRU
from keras_duspar.layers.mingru import MinGRU
from keras_duspar.layers.registry import get
from keras_duspar.layers.registry import names
from keras_duspar.layers.registry import register
from keras_duspar.layers.spar import SpaR

register("duspar", DuSpaR)
register("spar", SpaR)
register("gru", keras.layers.GRU)
register("mingru", MinGRU)
register("delta_gru", DeltaGRU)
register("dynamic_gru", DynamicGRU)
register("irnn", IRNN)
register("ligru", LiGRU)
