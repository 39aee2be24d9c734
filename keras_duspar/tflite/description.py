"""The description of a model in its file: JSON in the metadata.

A runner reads it to know the task, the labels, the rates and what the layers
cost. A file without it still runs.
"""

import json

from keras_duspar.cells import Cost
from keras_duspar.cells import Operand
from keras_duspar.profiling.report import LayerProfile

NAME = "keras_duspar"
FORMAT = 1
# What every description has, and of which kind it is.
KINDS = {
    "version": str,
    "task": (str, type(None)),
    "streaming": bool,
    "ops": str,
    "weights": (str, type(None)),
    "outputs": list,
    "states": list,
}


def describe_layer(layer, runs=None):
    """A `LayerProfile` as plain values.

    Args:
        layer: The `LayerProfile`, of which the counts are left out.
        runs: Integer, how often the layer runs for an input of any length, or
            `None` if that depends on the length.
    """
    return {
        "name": layer.name,
        "kind": layer.kind,
        "params": layer.params,
        "recurrent": layer.recurrent,
        "steps_per_second": layer.steps_per_second,
        "runs": runs,
        "operands": [
            {"name": o.name, "size": o.size, "fan": o.fan, "sparse": o.sparse}
            for o in layer.cost.operands
        ],
        "biases": layer.cost.biases,
        "elementwise": layer.cost.elementwise,
    }


def layer_cost(described):
    """The `Cost` of a described layer."""
    return Cost(
        tuple(Operand(**operand) for operand in described["operands"]),
        described["biases"],
        described["elementwise"],
    )


def layer_profile(described, rate, nonzeros):
    """The `LayerProfile` of a described layer.

    Args:
        described: Dictionary made by `describe_layer()`.
        rate: Float, how often the layer runs in a second.
        nonzeros: Dictionary of operand name to the mean number of its
            entries that are not zero.
    """
    cost = layer_cost(described)
    over_time = {}
    if described["recurrent"]:
        # A runner adds up; it keeps no curve.
        over_time = {o.name: [nonzeros[o.name] / o.size] for o in cost.operands}
    return LayerProfile(
        described["name"],
        described["kind"],
        described["params"],
        rate,
        cost,
        nonzeros,
        over_time,
    )


def encode(description):
    """The bytes of a description."""
    content = {"format": FORMAT, **description}
    return json.dumps(content, separators=(",", ":")).encode()


def decode(file):
    """The description in a parsed file, or `None` if it has none."""
    content = file.metadata.get(NAME)
    if content is None:
        return None
    try:
        description = json.loads(content.rstrip(b"\0"))
        known = description["format"] <= FORMAT
        if known:
            _check(description, file.signatures[0])
    except (ValueError, KeyError, TypeError, RecursionError) as e:
        raise ValueError(
            f"`path` must have metadata {NAME!r} that can be read. Received "
            f"something else ({e})."
        ) from e
    if not known:
        raise ValueError(
            f"`path` must have metadata of format {FORMAT} or older. Received "
            f"format {description['format']}: use a newer keras_duspar."
        )
    return description


def _check(description, signature):
    """Raises unless a description has all parts, and the file what it names."""
    for key, kind in KINDS.items():
        if not isinstance(description[key], kind):
            raise ValueError(f"{key}={description[key]!r}")
    outputs = [output["name"] for output in description["outputs"]]
    for names, tensors in (
        (outputs, signature.outputs),
        (description["states"], signature.inputs),
        (description["states"], signature.outputs),
    ):
        for name in names:
            if name not in tensors:
                raise ValueError(f"no tensor {name!r}")
