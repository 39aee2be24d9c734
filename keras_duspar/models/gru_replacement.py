"""A model with DuSpaRs in place of its GRUs."""

import keras
import numpy as np

from keras_duspar import cells
from keras_duspar import layers
from keras_duspar.cells.gru_arguments import PAGE
from keras_duspar.quantization.model import check_model
from keras_duspar.quantization.model import copy_graph
from keras_duspar.utils.nesting import walk
from keras_duspar.utils.tables import text_table

_REPLACED = {
    keras.layers.GRU: layers.DuSpaR,
    keras.layers.GRUCell: cells.DuSpaRCell,
}
# Arguments of GRU that have no counterpart.
_DROPPED = (
    "activation",
    "recurrent_activation",
    "use_bias",
    "recurrent_initializer",
    "bias_initializer",
    "recurrent_regularizer",
    "recurrent_constraint",
    "reset_after",
)
# Widths are multiples of this, which fits vector registers.
_MULTIPLE = 4


def from_gru(model, keep_units=False, report=print):
    """A copy of a model with `DuSpaR` layers in place of its GRUs.

    All GRUs become wider or narrower by one factor, so that the copy has
    about as many parameters as the model. Other layers keep their weights
    wherever the shapes are still the same; the new layers, and dense layers
    behind them whose shape has changed, begin untrained.

    `keras.layers.GRU` and `GRUCell` are found in functional and sequential
    models, in `Bidirectional`, `RNN`, `StackedRNNCells` and nested models.
    Names and options such as `return_sequences`, `go_backwards`, `stateful`
    and dropout stay; the report names arguments that have no counterpart.

    Args:
        model: A functional `keras.Model`, or a sequential one that is built.
        keep_units: Boolean, whether to keep the widths instead of the number
            of parameters, for models that add what a GRU returns to
            something else. Default: `False`.
        report: Callable that takes a table of what was replaced, or `None`.
            Default: `print`.

    Returns:
        A `keras.Model`, not compiled.

    Example:

    >>> model = keras.Sequential([
    ...     keras.Input((None, 64)),
    ...     keras.layers.GRU(96, return_sequences=True, name="first"),
    ...     keras.layers.GRU(96, name="second"),
    ...     keras.layers.Dense(35)])
    >>> copy = keras_duspar.models.from_gru(model)
    layer   GRU   params  DuSpaR   params  left out
    -----------------------------------------------
    first    96   46,656     128   33,152
    second   96   55,872     128   66,048
    -----------------------------------------------
    model        105,923          103,715
    """
    check_model(model)
    grus = _found(model, tuple(_REPLACED))
    if not grus:
        raise ValueError(
            "`model` must have layers `keras.layers.GRU`. Received: "
            f"{model.name!r}, which has none."
        )
    _check_states(model.get_config(), grus)
    copy, pairs = _replace(model) if keep_units else _equal_parameters(model)
    for old, new in pairs:
        _take_weights(old, new)
    if report is not None:
        report(_table(model, copy, grus))
    return copy


def _found(model, kinds):
    """Dictionary of path to the layers and cells of some kinds."""
    return {
        path: layer
        for path, layer in walk(model, stop=lambda x: isinstance(x, kinds))
        if isinstance(layer, kinds)
    }


def _check_states(config, paths):
    """Raises if states are given to a GRU, which has one where we have two.

    Args:
        config: Configuration of a model.
        paths: Paths of GRUs, which begin with the names of its layers.
    """
    for layer in config.get("layers", ()):
        name = layer["config"].get("name")
        if not any(name in path.split("/") for path in paths):
            continue
        _check_states(layer["config"], paths)
        for node in layer.get("inbound_nodes", ()):
            states = [*node["args"][1:2], node["kwargs"].get("initial_state")]
            if any(state is not None for state in states):
                raise ValueError(
                    f"`model` must not set the states of {name!r}: a GRU has "
                    f"one, a DuSpaR two. {PAGE} tells how to write it."
                )


def _equal_parameters(model):
    """The copy with about as many parameters as the model.

    Their number is a polynomial of second degree in the factor of the widths.
    """
    factors = (0.5, 1.0, 1.5)
    counts = [_replace(model, f, 1)[0].count_params() for f in factors]
    a, b, c = np.polyfit(factors, counts, 2)
    missing = model.count_params() - c
    factor = 2 * missing / (b + np.sqrt(b**2 + 4 * a * missing))
    return _replace(model, factor, _MULTIPLE)


def _replace(model, factor=1.0, multiple=1):
    """A copy with GRUs replaced, and pairs of layers before and after."""

    def change(layer_class, config):
        new_class = _REPLACED.get(layer_class)
        if new_class is None:
            return layer_class, config
        return new_class, _duspar_config(config, factor, multiple)

    try:
        return copy_graph(model, change)
    except ValueError as e:
        hint = "" if factor == 1.0 else " `keep_units=True` keeps the widths."
        raise ValueError(
            f"`model` {model.name!r} does not work with DuSpaRs: {e}{hint}"
        ) from e


def _duspar_config(config, factor, multiple):
    """The configuration of what takes the place of a GRU."""
    units = factor * config["units"]
    if units < 2 * multiple:
        multiple = 1
    units = max(1, multiple * round(units / multiple))
    kept = {n: v for n, v in config.items() if n not in _DROPPED}
    return {**kept, "units": units}


def _take_weights(old, new):
    """Copies the weights of a layer if all of them still fit."""
    values = old.get_weights()
    shapes = [tuple(weight.shape) for weight in new.weights]
    if shapes == [value.shape for value in values]:
        new.set_weights(values)


def _table(model, copy, grus):
    """What was replaced by what."""
    default = keras.layers.GRU(1).get_config()
    rows = []
    found = _found(copy, tuple(_REPLACED.values()))
    for (path, gru), duspar in zip(grus.items(), found.values(), strict=True):
        config = gru.get_config()
        left_out = [n for n in _DROPPED if config[n] != default[n]]
        numbers = (
            f"{number:,}"
            for layer in (gru, duspar)
            for number in (layer.units, layer.count_params())
        )
        rows.append((path, *numbers, ", ".join(left_out)))
    columns = ("layer", "GRU", "params", "DuSpaR", "params", "left out")
    total = [f"{found.count_params():,}" for found in (model, copy)]
    footer = ("model", "", total[0], "", total[1], "")
    return text_table(columns, rows, footer, left=("layer", "left out"))
