"""The `.tflite` files that are compared, each of one time step."""

import pathlib
import tempfile

import flatbuffers
import keras
import numpy as np
import tensorflow as tf
from tensorflow.lite.python import schema_py_generated as schema

import keras_duspar
from keras_duspar import tflite
from keras_duspar.native.sparse_ops import sparse_op_of
from keras_duspar.quantization import QuantScheme
from keras_duspar.quantization import calibrate

# Weights and operands of sparse files.
FORMATS = (
    ("float32", "float32"),
    ("bfloat16", "float32"),
    ("int8", "float32"),
    ("int8", "uint8"),
    ("int8", "uint7"),
)
# How LiteRT's converter stores the weights of built-in operators.
TYPES = ("float32", "dynamic int8", "full int8")
# Of the constants of a sparse operator: behind the input, two states and four
# kernels come four biases, then scales.
FIRST_BIAS = 7


class Files:
    """Makes files, or takes those that were made before.

    Args:
        folder: Path of the folder that keeps them.
    """

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, name, make, *args):
        """The bytes of a file that `make(path, *args)` writes if missing."""
        versions = f"{keras_duspar.__version__}-tf{tf.__version__}"
        path = self.folder / f"{name}-{versions}.tflite".replace(" ", "_")
        if not path.exists():
            scratch = path.with_suffix(".part")
            make(scratch, *args)
            scratch.replace(path)
        return path.read_bytes()


def duspar_model(features, layers):
    """A Keras model of DuSpaR layers with these weights."""
    model = keras.Sequential([keras.Input((None, features))])
    for weights in layers:
        units = weights.kernels[0].shape[1]
        model.add(keras_duspar.DuSpaR(units, return_sequences=True))
        cell = model.layers[-1].cell
        op = sparse_op_of(cell)
        for variable, value in zip(
            [*op.kernels, *op.biases], [*weights.kernels, *weights.biases]
        ):
            variable.assign(value)
    return model


def round_model(model, weights, operands, data):
    """The model with such weights and operands, whose ranges are of data."""
    if weights == "float32":
        return model
    rounded = keras_duspar.quantize(model, QuantScheme(weights, operands))
    if operands != "float32":
        calibrate(rounded, data)
    return rounded


def write_sparse(path, model, weights="float32", operands="float32", data=None):
    """Writes a streaming file of sparse operators."""
    model = round_model(model, weights, operands, data)
    tflite.convert(model, path, streaming=True)


def change_biases(content, layers, operands):
    """The bytes of a file whose sparse operators get other biases.

    Converting takes seconds, this takes none: the files of a stack at
    different occupancies differ in biases and in ranges of operands alone.
    """
    model = schema.ModelT.InitFromPackedBuf(content, 0)
    (graph,) = model.subgraphs
    sparse = [
        op
        for op in graph.operators
        if model.operatorCodes[op.opcodeIndex].customCode == b"DuSpaR"
    ]
    if len(sparse) != len(layers):
        raise ValueError(f"{len(sparse)} operators for {len(layers)} layers.")

    def put(index, values):
        buffer = model.buffers[graph.tensors[index].buffer]
        new = np.asarray(values, "float32").tobytes()
        if len(new) != len(buffer.data):
            raise ValueError(f"A constant of another size: tensor {index}.")
        buffer.data = np.frombuffer(new, "uint8")

    levels = {"uint8": 255, "uint7": 127}.get(operands)
    for op, weights in zip(sparse, layers):
        for index, bias in zip(op.inputs[FIRST_BIAS:], weights.biases):
            put(index, bias)
        if levels:
            put(op.inputs[-1], [most / levels for most in weights.ranges])
    builder = flatbuffers.Builder(len(content) + 1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def write_cells(path, kind, features, widths, type_, weights=None):
    """Writes one step of Keras' GRU or LSTM cells as LiteRT's converter does.

    Args:
        path: Path of the file.
        kind: `"GRU"` or `"LSTM"`.
        features: Width of the input.
        widths: Tuple, units of the layers.
        type_: One of `TYPES`.
        weights: List of the cells' weights, or `None` for random ones.
    """
    cells, n = [], features
    for units in widths:
        cell = getattr(keras.layers, f"{kind}Cell")(units)
        cell.build((1, n))
        cells.append(cell)
        n = units
    names = [
        [f"state_{i}_{j}" for j in range(1 if kind == "GRU" else 2)]
        for i in range(len(cells))
    ]
    specs = {"x": tf.TensorSpec((1, features), name="x")}
    for cell_names, units in zip(names, widths):
        for name in cell_names:
            specs[name] = tf.TensorSpec((1, units), name=name)

    def step(**inputs):
        x, outputs = inputs["x"], {}
        for cell, cell_names in zip(cells, names):
            states = [inputs[name] for name in cell_names]
            x, states = cell(x, states)
            outputs |= dict(zip(cell_names, tf.nest.flatten(states)))
        outputs["y"] = x
        return {name: tf.identity(value) for name, value in outputs.items()}

    if weights is not None:
        for cell, values in zip(cells, weights):
            cell.set_weights(values)
    module = tf.Module()
    module.variables_ = [v.value for cell in cells for v in cell.weights]
    module.step = tf.function(step)
    function = module.step.get_concrete_function(**specs)
    rng = np.random.default_rng(0)

    def examples():
        for _ in range(20):
            yield (
                "step",
                {
                    name: rng.uniform(-1, 1, spec.shape).astype("f")
                    for name, spec in specs.items()
                },
            )

    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, signatures={"step": function})
        converter = tf.lite.TFLiteConverter.from_saved_model(
            folder, signature_keys=["step"]
        )
        if type_ != "float32":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if type_ == "full int8":
            converter.representative_dataset = examples
            converter.target_spec.supported_ops = [
                tf.lite.OpsSet.TFLITE_BUILTINS_INT8
            ]
            converter.inference_input_type = tf.int8
            converter.inference_output_type = tf.int8
        pathlib.Path(path).write_bytes(converter.convert())


def write_empty(path):
    """Writes a file that next to nothing is done in."""
    module = tf.Module()
    module.step = tf.function(lambda x: {"y": x + 1.0})
    function = module.step.get_concrete_function(
        tf.TensorSpec((1, 8), name="x")
    )
    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [function], module
    )
    pathlib.Path(path).write_bytes(converter.convert())
