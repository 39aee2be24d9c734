"""Occupancy and MACs of a model on data."""

from keras_duspar.utils import lazy

lazy.attach(
    __name__,
    {
        ".costs": "register_cost",
        ".profile": "Profiler profile",
        ".report": "LayerProfile Profile",
        "..utils.tables": "text_table",
    },
)
