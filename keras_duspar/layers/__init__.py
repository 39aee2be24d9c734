"""Recurrent layers, and the registry in which models look them up."""

from keras_duspar.utils import lazy

lazy.attach(
    __name__,
    {
        ".base": "RecurrentLayer",
        ".recurrent": (
            "EGRU IRNN DeltaGRU DuSpaR DynamicGRU LiGRU MinGRU SpaR"
        ),
        ".registry": "get names register",
    },
)
