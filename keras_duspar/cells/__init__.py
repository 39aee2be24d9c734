"""Recurrent cells: one step of a layer, for use in `keras.layers.RNN`."""

from keras_duspar.cells.base import RecurrentCell
from keras_duspar.cells.cost import Cost
from keras_duspar.cells.cost import Operand
from keras_duspar.cells.delta_gru import DeltaGRUCell
from keras_duspar.cells.duspar import DuSpaRCell
from keras_duspar.cells.dynamic_gru import DynamicGRUCell
from keras_duspar.cells.irnn import IRNNCell
from keras_duspar.cells.ligru import LiGRUCell
from keras_duspar.cells.linear import LinearCell
from keras_duspar.cells.mingru import MinGRUCell
from keras_duspar.cells.spar import SpaRCell
