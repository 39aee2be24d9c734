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


def walk(layer, stop=lambda layer: False):
    """Yields a layer and all layers within it, each once, with its path.

    Args:
        layer: The outermost layer or model.
        stop: Callable that takes a layer and returns whether to stay out of
            it. Default: never.

    Yields:
        Pairs of a path and a layer. The path is the layer's name, behind the
        names of the layers around it except the outermost one:
        `"encoder/dense"`. No two layers have the same path: the later one
        gets a `'`.
    """
    seen, taken = set(), set()

    def visit(inner, prefix):
        if id(inner) in seen:
            return
        seen.add(id(inner))
        path = f"{prefix}{inner.name}"
        while path in taken:
            path += "'"
        taken.add(path)
        yield path, inner
        if not stop(inner):
            for child in child_layers(inner):
                yield from visit(child, "" if inner is layer else f"{path}/")

    yield from visit(layer, "")


def all_layers(layer):
    """The layer itself and all layers within it, at any depth."""
    return [found for _, found in walk(layer)]
