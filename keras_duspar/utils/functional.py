"""Functional models of subclassed ones."""

import inspect

import keras

from keras_duspar.utils.nesting import all_layers


def functional(model):
    """A model whose graph is known, of the layers of the given one.

    A subclassed model that is built is traced: its `call()` runs on symbolic
    inputs. Its layers, and so its weights, are those of the result. Any other
    model is returned as it is, also one that cannot be traced because it is
    not built.

    Args:
        model: A `keras.Model`.
    """
    if getattr(model, "inputs", None) or isinstance(model, keras.Sequential):
        return model
    if not model.built:
        return model
    shape = (model.get_build_config() or {}).get("input_shape")
    audio = any(hasattr(layer, "hop_length") for layer in all_layers(model))

    def make_input(shape):
        """Of any batch size, and of any length if it has one."""
        sizes = list(shape[1:])
        if len(sizes) > 1 or audio:
            sizes[0] = None
        return keras.Input(tuple(sizes))

    options = {}
    if "training" in inspect.signature(model.call).parameters:
        options["training"] = False
    try:
        if shape is None:  # where Keras could not trace it either
            raise ValueError("the shape of the input is not known")
        inputs = keras.tree.map_shape_structure(make_input, shape)
        outputs = model.call(inputs, **options)
        return keras.Model(inputs, outputs, name=model.name)
    except Exception as e:
        raise ValueError(
            f"`model` {model.name!r}, a {type(model).__name__}, must have a "
            "`call()` that runs on one `keras.Input` of any length, so that "
            "its graph is known: use layers and `keras.ops` there, neither "
            "NumPy nor operations of a backend. Received: "
            f"{type(e).__name__}: {e}"
        ) from e
