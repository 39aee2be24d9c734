"""Recurrent layers by name."""

import keras

from keras_duspar.cells.base import RecurrentCell
from keras_duspar.layers.base import RecurrentLayer
from keras_duspar.layers.recurrent import EGRU
from keras_duspar.layers.recurrent import IRNN
from keras_duspar.layers.recurrent import DeltaGRU
from keras_duspar.layers.recurrent import DuSpaR
from keras_duspar.layers.recurrent import DynamicGRU
from keras_duspar.layers.recurrent import LiGRU
from keras_duspar.layers.recurrent import MinGRU
from keras_duspar.layers.recurrent import SpaR
from keras_duspar.utils import checks

_LAYERS = {
    "duspar": DuSpaR,
    "spar": SpaR,
    "gru": keras.layers.GRU,
    "mingru": MinGRU,
    "delta_gru": DeltaGRU,
    "dynamic_gru": DynamicGRU,
    "egru": EGRU,
    "irnn": IRNN,
    "ligru": LiGRU,
}


def register(name, layer=None):
    """Registers a recurrent layer by name, for models and recipes.

    Args:
        name: String, the new name. Lower case by convention.
        layer: A subclass of `keras.layers.RNN` whose constructor takes
            `units` first, or a subclass of `keras_duspar.RecurrentCell`, for
            which a layer is made. Without it, the function is a decorator.

    Returns:
        The registered layer class; as a decorator, the decorated class.

    Example:

    >>> @keras_duspar.layers.register("leaky")
    ... class LeakyCell(keras_duspar.RecurrentCell):
    ...     def step(self, inputs, states, training=False):
    ...         h = 0.9 * states[0] + 0.1 * inputs
    ...         return h, [h], {}
    ...     def cost(self):
    ...         return keras_duspar.Cost(elementwise=2 * self.units)
    >>> leaky = keras_duspar.layers.get("leaky")(8, return_sequences=True)
    >>> tuple(leaky(np.ones((1, 5, 8), "float32")).shape)
    (1, 5, 8)
    """
    if not isinstance(name, str) or not name:
        raise checks.bad_value("name", "a non-empty string", name)
    if layer is None:

        def decorate(cls):
            register(name, cls)
            return cls

        return decorate
    if isinstance(layer, type) and issubclass(layer, RecurrentCell):
        layer = _layer_over(layer)
    if not (isinstance(layer, type) and issubclass(layer, keras.layers.RNN)):
        raise checks.bad_value(
            "layer",
            "a subclass of `keras.layers.RNN` or `keras_duspar.RecurrentCell`",
            layer,
        )
    if _LAYERS.get(name, layer) is not layer:
        raise ValueError(
            f"`name` must not be taken. Received: name={name!r}, which is "
            f"{_LAYERS[name].__name__} already."
        )
    _LAYERS[name] = layer
    return layer


def get(name):
    """The recurrent layer class of a name.

    Args:
        name: String, a registered name such as `"duspar"` or `"gru"`, or a
            subclass of `keras.layers.RNN`, which is returned as it is.

    Returns:
        A subclass of `keras.layers.RNN`.

    Example:

    >>> keras_duspar.layers.get("duspar").__name__
    'DuSpaR'
    """
    if isinstance(name, type) and issubclass(name, keras.layers.RNN):
        return name
    if not isinstance(name, str) or name not in _LAYERS:
        listed = ", ".join(repr(n) for n in names())
        raise checks.bad_value(
            "name",
            f"a subclass of `keras.layers.RNN` or one of {listed}",
            name,
            "Add your own with `keras_duspar.layers.register()`.",
        )
    return _LAYERS[name]


def names():
    """The registered names, sorted.

    Returns:
        A list of strings.
    """
    return sorted(_LAYERS)


def _layer_over(cell_class):
    """A layer class over a cell class, which can be saved and loaded."""
    name = cell_class.__name__.removesuffix("Cell")
    layer = type(
        name,
        (RecurrentLayer,),
        {
            "__doc__": f"Layer over `{cell_class.__name__}`.",
            "__module__": cell_class.__module__,
            "cell_class": cell_class,
        },
    )
    return keras.saving.register_keras_serializable(cell_class.__module__)(
        layer
    )
