"""From a Keras model to a `.tflite` file."""

import pathlib
import warnings

import keras

from keras_duspar import checks
from keras_duspar.optional import optional_package
from keras_duspar.profiling import probe
from keras_duspar.tflite import sparse_ops

OPS = ("sparse", "builtin")


def convert(
    model,
    path,
    streaming=False,
    ops="sparse",
    weights="float32",
    frames=1,
    labels=None,
    task=None,
    output_names=None,
    count=False,
):
    """Converts a Keras model to a `.tflite` file.

    A whole-utterance file has a signature `predict` with the inputs and
    outputs of the model, for any batch size and any length. A streaming file
    has a signature `step`: it takes a chunk of new samples (or time steps)
    and the states, and returns what is new and the next states. Streams
    begin with states of zeros. Both kinds contain the model's audio front
    end.

    On the JAX and torch backends the conversion runs in a process of its own
    on the TensorFlow backend.

    Args:
        model: A functional or sequential `keras.Model` that is built, or the
            path of a `.keras` file.
        path: String or `pathlib.Path`, the file to write.
        streaming: Boolean, whether the file takes chunks of a stream or whole
            utterances. Default: `False`.
        ops: String. `"sparse"`: every layer whose cell has a sparse operator
            becomes one such operator, which skips zeros and which the
            delegate of this package runs. `"builtin"`: operators that every
            TFLite runtime has. Default: `"sparse"`.
        weights: String, how the kernels of sparse operators are stored:
            `"float32"`, `"bfloat16"` or `"int8"`, with one scale for every
            column. Built-in operators have `"float32"`. Default:
            `"float32"`.
        frames: Positive integer, the frames that one chunk of a stream
            completes. Default: 1.
        labels: List of strings, the names of the classes, kept in the file.
            Default: `None`.
        task: String, what the model does, kept in the file. Default: `None`,
            which stands for the model's name.
        output_names: List of strings, the names of the outputs in the
            signature. Default: `None`, which stands for the model's own.
        count: Boolean, whether a file of built-in operators counts the
            entries of operands that are not zero, in an output `counts`, so
            that its occupancy can be compared. The delegate always counts.
            Default: `False`.

    Returns:
        The `pathlib.Path` of the file.

    Example:

    ```python
    model = keras_duspar.models.keyword_spotter("duspar", 128)
    keras_duspar.tflite.convert(model, "spotter.tflite", streaming=True)
    ```
    """
    options = check_options(
        streaming=streaming,
        ops=ops,
        weights=weights,
        frames=frames,
        labels=labels,
        task=task,
        output_names=output_names,
        count=count,
    )
    optional_package("tensorflow", "tflite")
    from keras_duspar.tflite import writing  # noqa: PLC0415

    path = writing.check_writable(path)
    model = check_model(model)
    if keras.backend.backend() != "tensorflow":
        from keras_duspar.tflite import other_backend  # noqa: PLC0415

        return other_backend.convert(model, path, options)
    from keras_duspar.tflite import export  # noqa: PLC0415

    model = load_model(model)
    writing.write(path, export.export(model, **options))
    return path


def check_options(streaming, ops, weights, frames, labels, **others):
    """The options of `convert()`, checked, as a dictionary."""
    checks.choice("ops", ops, OPS)
    checks.choice("weights", weights, sparse_ops.WEIGHTS)
    frames = checks.positive_integer("frames", frames)
    if frames > 1 and not streaming:
        raise checks.bad_value("frames", "1 unless `streaming=True`", frames)
    if ops == "builtin" and weights != "float32":
        raise checks.bad_value(
            "weights",
            '"float32" with `ops="builtin"`',
            weights,
            'Only the sparse operators have other weights: `ops="sparse"`.',
        )
    if others["count"] and ops != "builtin":
        raise checks.bad_value(
            "count",
            'False with `ops="sparse"`',
            others["count"],
            "The delegate counts without it.",
        )
    for name in ("labels", "output_names"):
        value = labels if name == "labels" else others[name]
        is_list = isinstance(value, (list, tuple)) and all(
            isinstance(item, str) for item in value
        )
        if value is not None and not is_list:
            raise checks.bad_value(name, "a list of strings or None", value)
    return {
        "streaming": bool(streaming),
        "ops": ops,
        "weights": weights,
        "frames": frames,
        "labels": None if labels is None else list(labels),
        **others,
    }


def check_model(model):
    """Returns `model` if it is a built model or the path of a file."""
    expected = "a Keras model or the path of a .keras file"
    if isinstance(model, (str, pathlib.Path)):
        path = pathlib.Path(model)
        if path.suffix != ".keras" or not path.is_file():
            raise checks.bad_value("model", expected, model)
        return path
    if not isinstance(model, keras.Model):
        raise checks.bad_value(
            "model",
            expected,
            model,
            "Put a layer into `keras.Sequential([keras.Input(...), layer])`.",
        )
    if not model.built or not getattr(model, "inputs", None):
        raise ValueError(
            "`model` must be a functional model, or a sequential one that is "
            f"built. Received: {model.name!r}, a {type(model).__name__} "
            "without known inputs. Call it on a `keras.Input` and make a "
            "`keras.Model` of the two."
        )
    return model


def load_model(model):
    """A model that can be converted: loaded if a path is given."""
    if isinstance(model, pathlib.Path):
        try:
            model = keras.models.load_model(model, compile=False)
        except Exception as e:
            raise ValueError(
                "`model` must be a .keras file that can be loaded. Received: "
                f"{str(model)!r}. {e}"
            ) from e
        model = check_model(model)
    for tap in recurrent_layers(model):
        if tap.layer.stateful:
            raise ValueError(
                f"`model` must not hold stateful layers: {tap.name!r} is one. "
                "Build it with `stateful=False`: a streaming file has its "
                "states as inputs and outputs."
            )
    return model


def recurrent_layers(model):
    """The recurrent layers of a model, as taps of the profiler."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of layers whose cost is not known
        return [tap for tap in probe.find_taps(model) if tap.recurrent]
