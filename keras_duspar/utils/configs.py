"""Configurations of what a constructor takes."""

import inspect

import keras


def keep_about(model, copy):
    """Returns a copy of a model, with the task and labels of the model."""
    for name in ("task", "labels"):
        if getattr(model, name, None) is not None:
            setattr(copy, name, getattr(model, name))
    return copy


def own_config(instance, cls):
    """The arguments that a class adds to those of Keras' class below it.

    Args:
        instance: The object, which has every argument as an attribute of the
            same name.
        cls: The class.

    Returns:
        A dictionary for `get_config()`.
    """
    base = next(c for c in cls.__mro__ if c.__module__.startswith("keras."))
    known = inspect.signature(base.__init__).parameters
    return {
        p.name: keras.saving.serialize_keras_object(getattr(instance, p.name))
        for p in inspect.signature(cls.__init__).parameters.values()
        if p.name not in known
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }
