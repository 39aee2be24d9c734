"""Recurrent layers, and the registry in which models look them up."""

from keras_duspar.utils import lazy

lazy.attach(
    __name__,
    {
        ".base": ["RecurrentLayer"],
        ".delta_gru": ["DeltaGRU"],
        ".duspar": ["DuSpaR"],
        ".dynamic_gru": ["DynamicGRU"],
        ".irnn": ["IRNN"],
        ".ligru": ["LiGRU"],
        ".mingru": ["MinGRU"],
        ".registry": ["get", "names", "register"],
        ".spar": ["SpaR"],
    },
)
