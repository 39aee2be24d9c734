"""Recurrent cells: one step of a layer, for use in `keras.layers.RNN`."""

from keras_duspar.utils import lazy

lazy.attach(
    __name__,
    {
        ".base": "RecurrentCell",
        ".cost": "Cost Operand",
        ".delta_gru": "DeltaGRUCell",
        ".duspar": "DuSpaRCell",
        ".dynamic_gru": "DynamicGRUCell",
        ".egru": "EGRUCell",
        ".irnn": "IRNNCell",
        ".ligru": "LiGRUCell",
        ".linear": "LinearCell",
        ".mingru": "MinGRUCell",
        ".spar": "SpaRCell",
    },
)
