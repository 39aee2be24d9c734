"""How long recurrent layers take at an occupancy, on this machine or another.

Measured with the native library, whose kernels are those of the delegate, on
layers of random weights. Their input and their offset decide which entries
are zero.
"""

import json
import pathlib
import time

import numpy as np

from keras_duspar import operators
from keras_duspar.native import Layer
from keras_duspar.utils import checks
from keras_duspar.utils import files

OCCUPANCIES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
STEPS, ROUNDS = 100, 20  # in one run, and runs of which the fastest counts


def stack(layers, frames_per_second):
    """What is measured of a model.

    Args:
        layers: List of `LayerProfile` of its recurrent layers.
        frames_per_second: Float, how often the model gets a frame.

    Returns:
        A list of lists: the operator's name, features, units and how often
        it runs per frame.
    """
    others = [x.kind for x in layers if x.kind not in operators.BY_NAME]
    if others or not layers:
        raise ValueError(
            "`microseconds` must be asked of a model whose recurrent layers "
            f"are all {' or '.join(operators.BY_NAME)}. Received: "
            f"{', '.join(others) or 'none'}."
        )
    return [
        [
            layer.kind,
            layer.cost.operands[0].size,
            layer.cost.operands[0].fan // 2,
            layer.steps_per_second / frames_per_second,
        ]
        for layer in layers
    ]


def measure(layers, weights="float32"):
    """Times a stack of layers at several occupancies, on one thread.

    Args:
        layers: List from `stack()`.
        weights: String, the type of the kernels: `"float32"`, `"bfloat16"` or
            `"int8"`. Default: `"float32"`.

    Returns:
        A list of pairs: an occupancy and the microseconds per frame.
    """
    found = []
    for occupancy in OCCUPANCIES:
        microseconds = 0.0
        for kind, features, units, runs in layers:
            layer, x = _layer(kind, features, units, occupancy, weights)
            times = []
            for _ in range(ROUNDS):
                start = time.perf_counter()
                layer(x)
                times.append(time.perf_counter() - start)
            microseconds += runs * min(times) / STEPS * 1e6
        found.append((occupancy, microseconds))
    return found


def _layer(kind, features, units, occupancy, weights):
    """A layer whose operands have an occupancy, and its input."""
    operator = operators.BY_NAME[kind]
    rng = np.random.default_rng(0)
    values = {}
    for weight in operator.weights:
        shape = operators.sizes(weight.shape, features, units)
        value = rng.normal(0, 0.1, shape).astype("float32")
        if weight.role == operators.OFFSET:
            value = (1 - weight.cell) * _signs(shape[0], occupancy, rng)
        elif weight.is_kernel and weights == "bfloat16":
            value = (value.view("int32") >> 16).astype("int16")
        elif weight.is_kernel and weights == "int8":
            value = rng.integers(-127, 128, shape).astype("int8")
            scale = weight.name.replace("kernel", "scale")
            values[scale] = np.full(shape[1], 1e-3, "float32")
        values[weight.name] = value
    x = [_signs(features, occupancy, rng) for _ in range(STEPS)]
    return Layer(operator.key, values, weights), np.stack(x)[None]


def _signs(size, occupancy, rng):
    """2 for a share of the entries and -2 for the others, in any order.

    States are within [-1, 1], so that these decide.
    """
    taken = rng.permutation(size) < round(occupancy * size)
    return np.where(taken, 2.0, -2.0).astype("float32")


def write(path, layers, table):
    """Writes a table as a JSON file."""
    with files.replacing(files.check_writable(path)) as part:
        content = {"layers": layers, "microseconds": table}
        part.write_text(json.dumps(content, indent=1) + "\n")


def read(path, layers):
    """The table in a file, which must be of the same layers."""
    try:
        content = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        known, table = content["layers"], content["microseconds"]
        table = [(float(share), float(us)) for share, us in table]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise checks.bad_value(
            "table", "a file of `keras-duspar benchmark --table`", str(path)
        ) from error
    if known != layers:
        raise checks.bad_value(
            "table", f"measured on the layers {layers}", str(path)
        )
    return table


def occupancy_at(table, microseconds):
    """The occupancy of recurrent layers that takes so long."""
    shares, times = zip(*table)
    # Noise may let a time be below the one before it.
    times = np.maximum.accumulate(times)
    return float(np.interp(microseconds, times, shares))
