"""Turns a model into a quantized one, and back."""

import inspect
import warnings

import keras
import numpy as np
from keras import ops

from keras_duspar.layers.quantized_loop import QuantizedRNN
from keras_duspar.layers.walking import quantized_layers
from keras_duspar.quantization.dense import QuantizedDense
from keras_duspar.rounding import scheme as schemes
from keras_duspar.utils import checks
from keras_duspar.utils.configs import keep_about
from keras_duspar.utils.functional import functional

# Keras' own layers, and what replaces them.
_QUANTIZED = {
    keras.layers.Dense: QuantizedDense,
    keras.layers.RNN: QuantizedRNN,
}
_PLAIN = {quantized: plain for plain, quantized in _QUANTIZED.items()}


def quantize(model, scheme="int8", skip=()):
    """A copy of a model that is ready for quantization-aware training.

    The copy has the weights of the model and computes with rounded ones: in
    training as after it, so that the weights adapt. Gradients pass the
    rounding as if it were not there. Ranges of operands (and of states, if
    the scheme rounds them) are weights that follow the data in training;
    before the first batch only the kernels are rounded. `freeze()`
    stops them.

    Recurrent layers over cells of this package, `keras.layers.Dense` and the
    filters of `LogMel` are quantized, at any depth. Other layers with weight
    matrices stay as they are and are named in a warning.

    Args:
        model: A functional or sequential `keras.Model` that is built.
        scheme: A `keras_duspar.QuantScheme`, or the name of one: `"int8"`
            (int8 weights, 8-bit operands), `"int4w"` (int4 weights),
            `"bfloat16"`. Default: `"int8"`.
        skip: List of the names of layers that stay as they are. Default:
            `()`.

    Returns:
        The quantized `keras.Model`, not compiled.

    Example:

    >>> model = keras.Sequential(
    ...     [keras.Input((None, 4)), keras_duspar.DuSpaR(8),
    ...      keras.layers.Dense(1)])
    >>> quantized = keras_duspar.quantize(model, "int8")
    >>> quantized.compile("adam", "mse")
    >>> x, y = np.random.normal(size=(64, 5, 4)), np.random.normal(size=64)
    >>> history = quantized.fit(x, y, verbose=0)
    >>> keras_duspar.quantization.freeze(quantized)
    """
    model = check_model(model)
    scheme = schemes.get(scheme)
    if scheme is None or not _rounds(scheme):
        raise checks.bad_value(
            "scheme", "a `QuantScheme` that rounds something", scheme
        )
    if quantized_layers(model):
        raise ValueError(
            "`model` must not be quantized already. Received: "
            f"{model.name!r}, which is. Undo it by "
            "`keras_duspar.quantization.dequantize()`."
        )
    skip = _check_names("skip", skip, model)
    config = keras.saving.serialize_keras_object(scheme)

    def change(layer_class, layer_config):
        if layer_config.get("name") in skip:
            return layer_class, layer_config
        layer_class = _QUANTIZED.get(layer_class, layer_class)
        if takes_quantization(layer_class):
            layer_config = {**layer_config, "quantization": config}
            if layer_config.get("implementation") == "native":
                # Natively trained layers do not round.
                layer_config["implementation"] = "auto"
        return layer_class, layer_config

    copy = _copy(model, change)
    if not quantized_layers(copy):
        raise ValueError(
            "`model` must have layers that can be quantized: recurrent layers "
            "of keras_duspar or `keras.layers.Dense`. Received: "
            f"{model.name!r}, which has none outside `skip`."
        )
    _warn_of_float_layers(copy, skip)
    return copy


def dequantize(model, rounded=True):
    """A copy of a quantized model without the quantization.

    Args:
        model: A model that `quantize()` returned, or that was loaded.
        rounded: Boolean, whether the kernels of the copy are the rounded
            ones, or those behind them that were trained. The filters of
            `LogMel` are always those of the float model. Default: `True`.

    Returns:
        A `keras.Model` of float layers, not compiled.
    """
    check_quantized(check_model(model))
    kernels = {}
    for layer in quantized_layers(model).values() if rounded else ():
        for kernel in layer.kernels:
            kernels[id(kernel)] = layer.quantizer.rounded_kernel(kernel)

    def change(layer_class, layer_config):
        layer_config = dict(layer_config)
        if takes_quantization(layer_class):
            layer_config.pop("quantization", None)
        return _PLAIN.get(layer_class, layer_class), layer_config

    return _copy(model, change, kernels)


def freeze(model):
    """Stops the ranges of a quantized model where they are.

    Args:
        model: A model that `quantize()` returned, and that was trained or
            calibrated.
    """
    check_ranges(model)
    for layer in quantized_layers(model).values():
        if layer.quantizer.frozen is not None:
            layer.quantizer.frozen.assign(1.0)


def check_model(model):
    """Returns `model` if it is built and its graph is known."""
    if not isinstance(model, keras.Model):
        raise checks.bad_value(
            "model",
            "a `keras.Model`",
            model,
            "Put a layer into `keras.Sequential([keras.Input(...), layer])`.",
        )
    model = functional(model)
    if not model.built or not getattr(model, "inputs", None):
        raise ValueError(
            f"`model` must be built. Received: {model.name!r}, a "
            f"{type(model).__name__} without known inputs. Call it on data "
            "once."
        )
    return model


def check_quantized(model):
    """Returns the quantized layers of a model that must have some."""
    found = quantized_layers(model)
    if not found:
        raise ValueError(
            "`model` must be quantized. Received: "
            f"{model.name!r}, which is not. Make it so by "
            "`keras_duspar.quantize()`."
        )
    return found


def check_ranges(model):
    """Raises unless all ranges are known, and all or none are frozen."""
    frozen = {}
    for path, layer in check_quantized(model).items():
        for name, variable in layer.quantizer.ranges.items():
            value = float(ops.convert_to_numpy(variable))
            where = f"`model` {model.name!r}: the range of {path}/{name}"
            if value == 0:
                raise ValueError(
                    f"{where} was never observed. Train the model, or run "
                    "`keras_duspar.quantization.calibrate()` on data."
                )
            if not np.isfinite(value):
                raise ValueError(
                    f"{where} is {value}: there was NaN or infinity in the "
                    "training. Start again from the model before it."
                )
        if layer.quantizer.frozen is not None:
            value = ops.convert_to_numpy(layer.quantizer.frozen)
            frozen[path] = bool(value)
    if len(set(frozen.values())) > 1:
        moving = [path for path, value in frozen.items() if not value]
        raise ValueError(
            f"`model` {model.name!r} is only partly frozen: the ranges of "
            f"{', '.join(moving)} are not. Freeze them all by "
            "`keras_duspar.quantization.freeze()`."
        )


def takes_quantization(layer_class):
    """Whether a layer or cell can be told a scheme."""
    return "quantization" in inspect.signature(layer_class).parameters


def _rounds(scheme):
    types = (scheme.weights, scheme.operands, scheme.states)
    return any(kind != schemes.FLOAT for kind in types)


def _check_names(argument, names, model):
    known = [layer.name for layer in model.layers]
    if isinstance(names, str) or not set(names) <= set(known):
        raise checks.bad_value(
            argument, f"a list of names of layers, out of {known}", names
        )
    return set(names)


def _copy(model, change, kernels=None):
    """As `copy_graph()`, the copy with the weights of the model.

    Args:
        model: The model.
        change: As for `copy_graph()`.
        kernels: Dictionary of the `id()` of variables to the values that they
            are to have in the copy, in place of their own.
    """
    copy, pairs = copy_graph(model, change)
    for old, new in pairs:
        for source, target in zip(_own(old), _own(new), strict=True):
            value = (kernels or {}).get(id(source), source)
            target.assign(ops.convert_to_numpy(value))
    return copy


def copy_graph(model, change):
    """A copy of a model whose layers were made from changed configurations.

    Args:
        model: The model.
        change: Callable that takes the class and the configuration of a layer
            and returns those of the copy.

    Returns:
        The copy, with new weights, and a list of pairs of a layer and its
        copy.
    """
    pairs = []

    def clone(layer):
        layer_class, config = _changed(type(layer), layer.get_config(), change)
        copy = layer_class.from_config(config)
        pairs.append((layer, copy))
        return copy

    copy = keras.models.clone_model(model, clone_function=clone, recursive=True)
    return keep_about(model, copy), pairs


def _changed(layer_class, config, change):
    """The class and configuration of a layer, with the layers in it."""
    config = {name: _changed_value(v, change) for name, v in config.items()}
    return change(layer_class, config)


def _changed_value(value, change):
    if isinstance(value, (list, tuple)):
        return type(value)(_changed_value(v, change) for v in value)
    if not isinstance(value, dict):
        return value
    if not {"class_name", "config"} <= set(value):
        return {k: _changed_value(v, change) for k, v in value.items()}
    layer_class = _find_class(value)
    if layer_class is None:
        return value
    new_class, config = _changed(layer_class, value["config"], change)
    name = keras.saving.get_registered_name(new_class)
    # It is built for what it is given in the copy, not as it was here.
    value = {k: v for k, v in value.items() if k != "build_config"}
    return {
        **value,
        "module": new_class.__module__
        if name != new_class.__name__
        else "keras.layers",
        "class_name": new_class.__name__,
        "registered_name": name if name != new_class.__name__ else None,
        "config": config,
    }


def _find_class(serialized):
    """The layer class of a serialized layer, `None` for other objects."""
    found = None
    if serialized.get("registered_name"):
        name = serialized["registered_name"]
        found = keras.saving.get_registered_object(name)
    elif serialized.get("module") == "keras.layers":
        found = getattr(keras.layers, serialized["class_name"], None)
    is_layer = isinstance(found, type) and issubclass(found, keras.layers.Layer)
    return found if is_layer else None


def _own(layer):
    """The variables of a layer without those of quantizers."""
    rounding = {
        id(variable)
        for found in quantized_layers(layer).values()
        for variable in found.quantizer.variables
    }
    return [v for v in layer.variables if id(v) not in rounding]


def _warn_of_float_layers(model, skip):
    known = {
        id(kernel)
        for layer in quantized_layers(model).values()
        if layer.quantizer.operands or isinstance(layer, QuantizedDense)
        for kernel in layer.kernels
    }
    left = {
        weight.path
        for layer in model.layers
        if layer.name not in skip
        for weight in layer.trainable_weights
        if len(weight.shape) > 1
        and "bias" not in weight.name
        and id(weight) not in known
    }
    if left:
        warnings.warn(
            f"These weights are not quantized: {sorted(left)}. Recurrent "
            "layers need a cell that declares its operands with "
            "`add_operand()`; in place of `keras.layers.GRU`, "
            "`keras_duspar.DynamicGRU(units, update_ratio=1)` computes the "
            "same.",
            stacklevel=3,
        )
