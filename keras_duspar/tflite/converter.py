"""From a Keras model to a `.tflite` file."""

import pathlib

import keras

from keras_duspar.layers.walking import quantized_layers
from keras_duspar.layers.walking import recurrent_layers
from keras_duspar.quantization import QuantScheme
from keras_duspar.quantization import calibrate
from keras_duspar.quantization import compare
from keras_duspar.quantization import quantize
from keras_duspar.quantization.model import check_model as check_built
from keras_duspar.quantization.model import check_ranges
from keras_duspar.tflite import encoding
from keras_duspar.utils import archives
from keras_duspar.utils import backends
from keras_duspar.utils import checks
from keras_duspar.utils import files
from keras_duspar.utils.batches import list_batches
from keras_duspar.utils.configs import keep_about
from keras_duspar.utils.nesting import all_layers
from keras_duspar.utils.optional import optional_package

OPS = ("sparse", "builtin")


def convert(
    model,
    path,
    streaming=False,
    ops="sparse",
    weights="float32",
    frames=1,
    window=None,
    labels=None,
    task=None,
    output_names=None,
    count=False,
    representative=None,
    report=print,
):
    """Converts a Keras model to a `.tflite` file.

    A whole-utterance file has a signature `predict` with the inputs and
    outputs of the model, for any batch size and any length. A streaming file
    has a signature `step`: it takes a chunk of new samples (or time steps)
    and the states, and returns the new outputs and the next states. Streams
    begin with states of zeros. Both kinds contain the model's audio front
    end.

    On the JAX and torch backends the conversion runs in a separate process
    on the TensorFlow backend.

    Args:
        model: A `keras.Model` that is built, or the path of a `.keras` file.
            The `call()` of a subclassed one must use layers and `keras.ops`.
        path: String or `pathlib.Path`, the file to write.
        streaming: Boolean, whether the file takes chunks of a stream or whole
            utterances. Default: `False`.
        ops: String. `"sparse"`: every layer whose cell has a sparse operator
            becomes one such operator, which skips zeros and which the
            delegate of this package runs. `"builtin"`: operators that every
            TFLite runtime has. Default: `"sparse"`.
        weights: String, what the kernels are rounded to: `"float32"`,
            `"bfloat16"` or `"int8"`, with one scale per output channel.
            A model that is quantized already is converted as it is and takes
            no other value than the default. Default: `"float32"`.
        frames: Positive integer, the frames that one chunk of a stream
            completes. Default: 1.
        window: Float, the seconds that the scores of a stream look back, for
            a model that averages over time, as a keyword spotter: what
            `keras_duspar.streaming.Detector` needs. Default: `None`,
            everything since the states were zeros.
        labels: List of strings, the names of the classes, all different, kept
            in the file; with CTC, without the blank. Default: `None`, which
            stands for the labels of the model, if it has any.
        task: String, what the model does, kept in the file. Default: `None`,
            which stands for the task of the model, or its name.
        output_names: List of strings, the names of the outputs in the
            signature. Default: `None`, which stands for the model's own.
        count: Boolean, whether a file of built-in operators counts the
            entries of operands that are not zero, in an output `counts`, so
            that its occupancy can be compared. The delegate always counts.
            Default: `False`.
        representative: Inputs of the model, in the forms that
            `keras_duspar.profile()` takes. With `weights="int8"` the operands
            of recurrent layers become 8-bit integers, whose ranges are taken
            from here; without, they stay float. Default: `None`.
        report: Callable that takes a `keras_duspar.quantization.Comparison`
            of the model before and after rounding on `representative`, or
            `None`. Default: `print`.

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
        window=window,
        labels=labels,
        task=task,
        output_names=output_names,
        count=count,
    )
    optional_package("tensorflow", "tflite")
    path = files.check_writable(path)
    model = check_model(model)
    if weights != "float32" or isinstance(model, keras.Model):
        model = round_model(load_model(model), weights, representative, report)
    elif representative is not None:
        raise _needless(representative)
    if not backends.is_tensorflow():
        from keras_duspar.tflite import other_backend  # noqa: PLC0415

        return other_backend.convert(model, path, options)
    from keras_duspar.tflite import export  # noqa: PLC0415

    model = load_model(model)
    if quantized_layers(model):
        check_ranges(model)
    files.write(path, export.export(model, **options))
    return path


def round_model(model, weights, representative=None, report=None):
    """A model as `convert()` is to round it: itself, or a quantized copy.

    Args:
        model: The model, checked by `load_model()`.
        weights: As the others, an argument of `convert()`.
    """
    if quantized_layers(model):
        if weights != "float32" or representative is not None:
            given = weights if weights != "float32" else "representative"
            raise ValueError(
                f"`model` {model.name!r} is quantized and is converted as it "
                "is, without `weights` and `representative`. Received: "
                f"{given}."
            )
        return model
    if weights == "float32":
        if representative is not None:
            raise _needless(representative)
        return model
    integers = weights == "int8" and representative is not None
    scheme = QuantScheme(weights, "uint8" if integers else "float32")
    rounded = quantize(model, scheme)
    if representative is not None:
        # Read twice, which a generator does not allow.
        batches = list(list_batches(model, representative, 32))
        calibrate(rounded, batches)
        if report is not None:
            report(compare(model, rounded, batches))
    return rounded


def _needless(representative):
    return checks.bad_value(
        "representative",
        'None unless `weights` is "int8" or "bfloat16"',
        representative,
    )


def check_options(streaming, ops, weights, frames, labels, **others):
    """The options of `convert()`, checked, as a dictionary.

    `weights` is left out: the model is rounded before it is exported.
    """
    checks.choice("ops", ops, OPS)
    checks.choice("weights", weights, encoding.WEIGHTS)
    frames = checks.positive_integer("frames", frames)
    if frames > 1 and not streaming:
        raise checks.bad_value("frames", "1 unless `streaming=True`", frames)
    if others["window"] is not None and not streaming:
        raise checks.bad_value(
            "window", "None unless `streaming=True`", others["window"]
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
    return check_built(model)


def load_model(model):
    """A model that can be converted: loaded if a path is given."""
    if isinstance(model, pathlib.Path):
        try:
            model = archives.load_model(model)
        except Exception as e:
            raise ValueError(
                "`model` must be a .keras file that can be loaded. Received: "
                f"{str(model)!r}. {e}"
            ) from e
        model = check_model(model)
    for name, layer in recurrent_layers(model).items():
        if layer.stateful:
            raise ValueError(
                f"`model` must not hold stateful layers: {name!r} is one. "
                "Build it with `stateful=False`: a streaming file has its "
                "states as inputs and outputs."
            )
    return model


def in_float32(model):
    """The model, or a copy that computes in float32 if it does not."""
    layers = list(all_layers(model))
    if all(layer.compute_dtype == "float32" for layer in layers):
        return model
    copy = keras.models.clone_model(model)
    copy.set_weights(model.get_weights())
    for layer in all_layers(copy):
        layer.dtype_policy = "float32"
    return keep_about(model, copy)


def output_names(model, names):
    """Names of the outputs in the signature, given ones or the model's."""
    own = getattr(model, "output_names", None)
    if own is None:  # a sequential model
        own = [model.layers[-1].name]
    own = [name.replace("/", "_") for name in own]
    if names is None:
        return own
    if len(names) != len(own) or len(set(names)) != len(names):
        raise checks.bad_value(
            "output_names", f"{len(own)} different names", names
        )
    return names


def check_labels(labels, model, task):
    """Raises if the labels do not fit the classes of the model.

    CTC, in which every time step has scores, has one more class than labels,
    the blank.
    """
    if labels is None:
        return
    task = getattr(model, "task", None) or task
    counts = []
    for output in model.outputs:
        width = output.shape[-1]
        if task != "slu":
            counts.append(width)
        if task == "slu" or (len(output.shape) == 3 and task != "kws"):
            counts.append(width - 1)
    checks.labels("labels", labels, counts)
