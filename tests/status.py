"""Writes the table of layers and what they can do, `docs/status.md`.

    python -m tests.status

Everything is tried, on small models. Files are converted on TensorFlow alone;
`test_status.py`, which runs on every backend, fails if the table is out of
date.
"""

import tempfile
import warnings

import keras
import numpy as np

import keras_duspar
from keras_duspar import tflite
from keras_duspar.layers import walking
from keras_duspar.native import sparse_ops
from keras_duspar.streaming import Stream
from tests.conftest import ROOT
from tests.helpers import assert_close
from tests.helpers import randomize
from tests.helpers import to_numpy

PAGE = ROOT / "docs/status.md"
COLUMNS = (
    "trains",
    "in C",
    "parallel",
    "skips zeros of",
    "counted",
    "quantized",
    "streams",
    "built-in operators",
    "sparse operator",
)
FILES = COLUMNS[-2:]


def layer_classes():
    """The package's recurrent layers, then Keras' own."""
    known = [keras_duspar.layers.get(n) for n in keras_duspar.layers.names()]
    ours = {c for c in known if c.__module__.startswith("keras_duspar.")}
    first = [keras_duspar.DuSpaR, keras_duspar.SpaR]
    return [
        *first,
        *sorted(ours - set(first), key=lambda c: c.__name__),
        *(keras.layers.GRU, keras.layers.LSTM, keras.layers.SimpleRNN),
    ]


def ask():
    """Dictionary of layer class to column to what is true of it.

    The columns of `FILES` are missing on other backends than TensorFlow.
    """
    x = np.random.default_rng(0).normal(size=(2, 6, 4)).astype("float32")
    inputs = keras.Input((None, 4))
    layers = {
        c: c(3, return_sequences=True, name=c.__name__) for c in layer_classes()
    }
    model = keras.Model(inputs, [layer(inputs) for layer in layers.values()])
    randomize(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names the layers that stay float
        copy = keras_duspar.quantize(model, "int8")
    quantized = walking.quantized_layers(copy)
    counted = {p.name: p for p in keras_duspar.profile(model, x).layers}
    table = {}
    for c, layer in layers.items():
        profile = counted.get(layer.name)
        operands = profile.cost.operands if profile else ()
        table[c] = {
            "trains": _trains(c, x),
            "in C": _trains_natively(c, x),
            "parallel": hasattr(layer, "parallel"),
            "skips zeros of": [o.name for o in operands if o.sparse],
            "counted": profile is not None,
            "quantized": any(p.startswith(layer.name) for p in quantized),
            "streams": _streams(layer, x),
        }
    if keras.backend.backend() == "tensorflow":
        _ask_files(table, layers, model, x)
    return {
        name_of(c): {n: _words(row[n]) for n in COLUMNS if n in row}
        for c, row in table.items()
    }


def _words(value):
    if isinstance(value, bool):
        return "yes" if value else ""
    return ", ".join(f"`{name}`" for name in value)


def _trains(cls, x):
    model = keras.Sequential([cls(3)])
    model.compile("sgd", "mse")
    model.build(x.shape)
    before = to_numpy(model.trainable_weights)
    model.fit(x, np.ones((2, 3), "float32"), verbose=0)
    after = to_numpy(model.trainable_weights)
    return not any(np.array_equal(a, b) for a, b in zip(before, after))


def _trains_natively(cls, x):
    if not issubclass(cls, keras_duspar.layers.RecurrentLayer):
        return False
    try:
        cls(3, implementation="native")(x, training=True)
    except ValueError:
        return False
    return True


def _streams(layer, x):
    inputs = keras.Input((None, 4))
    model = keras.Model(inputs, layer(inputs))
    try:
        stream = Stream(model)
    except ValueError:
        return False
    parts = [stream.push(x[:, i : i + 1]) for i in range(x.shape[1])]
    assert_close(np.concatenate([*parts, stream.finish()], axis=1), model(x))
    return True


def _ask_files(table, layers, model, x):
    """Files, which must have the model's numbers, and their operators."""
    names = [layer.name for layer in layers.values()]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/status.tflite"
        for ops in ("builtin", "sparse"):
            tflite.convert(model, path, ops=ops, output_names=names)
            found = tflite.load(path)(x)
            assert_close([found[name] for name in names], model(x))
        sparse = [op["name"] for op in tflite.inspect(path).sparse]
    for c, layer in layers.items():
        op = sparse_ops.sparse_op_of(layer.cell)
        names = [] if op is None else [op.name]
        for name in names:
            sparse.remove(name)
        table[c] |= {"built-in operators": True, "sparse operator": names}
    assert not sparse, f"operators of no layer: {sparse}"


def split(text):
    """A page as what is before its first table, the table, and the rest."""
    start = text.index("| layer |")
    end = text.index("\n\n", start)
    return text[:start], text[start:end], text[end:]


def rows():
    """The table of the page: layer to column to what it says."""
    lines = [
        [part.strip() for part in line.split("|")[1:-1]]
        for line in split(PAGE.read_text())[1].splitlines()
    ]
    return {row[0]: dict(zip(lines[0][1:], row[1:])) for row in lines[2:]}


def name_of(cls):
    """The name by which users know a layer."""
    ours = cls.__module__.startswith("keras_duspar.")
    return f"`{cls.__name__}`" if ours else f"Keras' `{cls.__name__}`"


def main():
    table = [
        ["layer", *COLUMNS],
        ["---"] * (1 + len(COLUMNS)),
        *([name, *row.values()] for name, row in ask().items()),
    ]
    before, _, after = split(PAGE.read_text())
    lines = [f"| {' | '.join(row)} |" for row in table]
    PAGE.write_text(before + "\n".join(lines) + after)


if __name__ == "__main__":
    main()
