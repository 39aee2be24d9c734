"""Layers within layers."""

import keras


def child_layers(layer):
    """The layers that a layer holds, in attributes or in containers there."""
    found = {}
    for value in vars(layer).values():
        if isinstance(value, dict):
            value = list(value.values())
        items = value if isinstance(value, (list, tuple)) else [value]
        for item in items:
            if isinstance(item, keras.layers.Layer):
                found[id(item)] = item
    return list(found.values())


def all_layers(layer):
    """The layer itself and all that it holds, at any depth."""
    yield layer
    for child in child_layers(layer):
        yield from all_layers(child)
