"""Traces a model in TensorFlow and makes the bytes of a `.tflite` file."""

import contextlib
import functools
import tempfile

import keras
import tensorflow as tf
from flatbuffers import flexbuffers

import keras_duspar
from keras_duspar.layers.walking import quantized_layers
from keras_duspar.layers.walking import recurrent_layers
from keras_duspar.profiling.profile import dense_profile
from keras_duspar.streaming import Recurrent
from keras_duspar.streaming import Stream
from keras_duspar.streaming.detector import detector_settings
from keras_duspar.tflite import constants
from keras_duspar.tflite import converter
from keras_duspar.tflite import counting
from keras_duspar.tflite import description
from keras_duspar.tflite import flatbuffer
from keras_duspar.tflite import writing
from keras_duspar.tflite.tracing import Tracer
from keras_duspar.utils.nesting import all_layers


def export(model, streaming, ops, frames, labels, task, **options):
    """The bytes of a `.tflite` file.

    Args:
        model: The model, checked by `converter.load_model()`.
        streaming: As the others, an option of `convert()`.
    """
    model = converter.in_float32(model)
    tracer = Tracer(model, ops, options["count"])
    names = converter.output_names(model, options["output_names"])
    task = task or getattr(model, "task", None) or model.name
    if labels is None:
        labels = getattr(model, "labels", None)
    converter.check_labels(labels, model, task)
    build = _streaming_function if streaming else _whole_function
    function, specs, details = build(
        model, tracer, names, frames, options["window"]
    )
    window = details.pop("window", None)
    signature = "step" if streaming else "predict"
    data, renamed = _convert(function, specs, model, signature)
    _verify(flatbuffer.File(data), tracer)
    counters = [
        [layer, counter]
        for layer, found in tracer.counts.items()
        for counter in found
    ]
    about = {
        "version": keras_duspar.__version__,
        "task": task,
        "labels": labels,
        **_rates(model),
        "streaming": streaming,
        "ops": "sparse" if tracer.operators else "builtin",
        **_types(model),
        "frames": frames,
        **details,
        "counters": counters,
        "layers": _layers(model),
    }
    if window is not None:
        classes = [str(i) for i in range(model.outputs[0].shape[-1])]
        about["detector"] = detector_settings(labels or classes, window)
    return writing.finish(
        data,
        renamed,
        {description.NAME: description.encode(about)},
        _shrinker(model),
    )


def _shrinker(model):
    """What stores the model's constants in as few bytes as they need."""
    found = quantized_layers(model).values()
    schemes = [layer.quantizer.scheme for layer in found]
    levels = {scheme.weight_levels for scheme in schemes} - {None}
    if levels or any(scheme.foreign_weights for scheme in schemes):
        levels.add(127)
    half = any(scheme.weights == "bfloat16" for scheme in schemes)
    if not levels and not half:
        return None
    return functools.partial(constants.shrink, levels=sorted(levels), half=half)


def _whole_function(model, tracer, names, *_):
    """The function of a file that takes whole utterances."""
    specs = [
        tf.TensorSpec(x.shape, x.dtype, name=x.name.replace("/", "_"))
        for x in model.inputs
    ]

    def predict(*inputs):
        inputs = _pack_inputs(model, list(inputs))
        with tracer.replaced_loops():
            outputs = model(inputs, training=False)
        return _named(names, keras.tree.flatten(outputs), tracer)

    outputs = [{"name": name, "kind": "whole"} for name in names]
    return predict, specs, {"delay": 0, "outputs": outputs, "states": []}


def _pack_inputs(model, inputs):
    """A list of inputs in the structure in which the model takes them."""
    if isinstance(model, keras.Sequential):
        return inputs[0]
    return keras.tree.pack_sequence_as(model.input, inputs)


def _streaming_function(model, tracer, names, frames, window):
    """The function of a file that takes chunks of a stream."""
    stream = Stream(model, frames, {keras.layers.RNN: AnySteps}, window)
    sizes = (1, stream.samples, *model.inputs[0].shape[2:])
    name = model.inputs[0].name.replace("/", "_")
    specs = [tf.TensorSpec(sizes, "float32", name=name)]
    specs += [
        tf.TensorSpec(
            [1 if size is None else size for size in state.shape],
            state.dtype,
            name=name,
        )
        for name, state in stream.states.items()
    ]

    def step(chunk, *states):
        with tracer.replaced_loops():
            outputs, new = stream.step(chunk, dict(zip(stream.states, states)))
        return _named(names, keras.tree.flatten(outputs), tracer) | new

    outputs = [
        {"name": name, "kind": signal.kind, "delay": signal.delay}
        for name, signal in zip(names, stream.signals)
    ]
    details = {
        "window": stream.window,
        "delay": stream.delay,
        "outputs": outputs,
        "states": list(stream.states),
    }
    return step, specs, details


class AnySteps(Recurrent):
    """Runs over any number of steps, also none, without a condition.

    The loops that are traced allow it, and a condition would hide their
    counters.
    """

    def _run_any(self, sequences, values, kept):
        states = keras.tree.pack_sequence_as(self.structure, values)
        _, outputs, states = self.layer.inner_loop(sequences, states, mask=None)
        if kept is not None:
            # Without any step, the last output stays.
            outputs = tf.concat([kept[:, None], outputs], axis=1)[:, -1]
        return [outputs, *keras.tree.flatten(states)]


def _named(names, outputs, tracer):
    """The outputs by name, with the counters if there are any."""
    named = dict(zip(names, outputs))
    counts = [c for found in tracer.counts.values() for c in found.values()]
    if counts:
        named[counting.OUTPUT] = tf.stack(counts)
    return named


def _convert(function, specs, model, signature):
    """The bytes of a file with one signature, and the names to be put in."""
    values = [
        (variable, keras.ops.convert_to_numpy(variable))
        for variable in model.variables
    ]

    def with_constants(*args):
        mapping = [(variable, tf.constant(value)) for variable, value in values]
        with keras.StatelessScope(state_mapping=mapping):
            return function(*args)

    # Names of Keras may have letters that TensorFlow's must not.
    renamed = {f"input_{i}": spec.name for i, spec in enumerate(specs)}

    def with_plain_names(*args):
        outputs = with_constants(*args)
        plain = {f"output_{i}": name for i, name in enumerate(outputs)}
        renamed.update(plain)
        return {key: tf.identity(outputs[plain[key]]) for key in plain}

    module = tf.Module()
    module.function = tf.function(
        with_plain_names,
        input_signature=[
            tf.TensorSpec(spec.shape, spec.dtype, name=f"input_{i}")
            for i, spec in enumerate(specs)
        ],
        autograph=False,
    )
    with tempfile.TemporaryDirectory() as folder, _quiet_logger():
        tf.saved_model.save(
            module, folder, signatures={signature: module.function}
        )
        converter = tf.lite.TFLiteConverter.from_saved_model(
            folder, signature_keys=[signature]
        )
        converter.allow_custom_ops = True
        try:
            return converter.convert(), renamed
        except Exception as e:
            # Older converters take numbers as an operator's options, no texts.
            if "failed to fuse" in str(e):
                raise ValueError(
                    '`ops="sparse"` needs TensorFlow 2.18 or newer to convert. '
                    f"Received: TensorFlow {tf.__version__}. Files that a "
                    "newer one has converted run with this one."
                ) from e
            raise ValueError(
                f"`model` {model.name!r} cannot be converted: TensorFlow's "
                f"converter says: {e}"
            ) from e


@contextlib.contextmanager
def _quiet_logger():
    """Leaves out TensorFlow's notes about temporary files."""
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel("ERROR")
    try:
        yield
    finally:
        logger.setLevel(level)


def _verify(file, tracer):
    """Raises unless the file has the sparse operators that were traced.

    Every other custom operator, also one of TensorFlow's own, would need a
    runtime that has it.
    """
    found = []
    for operator, tensors in file.custom_operators():
        # The weights are the last inputs.
        constant = 0
        for i in reversed(operator.inputs):
            if not tensors[i].constant:
                break
            constant += 1
        layer = flexbuffers.Loads(operator.options).get("layer")
        found.append((operator.custom, layer, constant))
    for name, layer, expected in tracer.operators:
        fitting = [
            f for f in found if f[:2] == (name, layer) and f[2] >= expected
        ]
        if not fitting:
            raise ValueError(
                "`model` could not be converted: expected an operator "
                f"{name!r} for layer {layer!r} with {expected} constant "
                f"inputs at the end. Received: {found}."
            )
        found.remove(fitting[0])
    if found:
        raise ValueError(
            f"`model` could not be converted: its operators {found} are not "
            "built in, so that a runtime could not run the file."
        )


def _types(model):
    """What kernels and operands of the model are rounded to."""
    for layer in quantized_layers(model).values():
        scheme = layer.quantizer.scheme
        return {
            "weights": str(scheme.weights),
            "operands": str(scheme.operands),
        }
    return {"weights": "float32", "operands": "float32"}


def _rates(model):
    """Samples per second and from one frame to the next, if known."""
    for layer in all_layers(model):
        rate = getattr(layer, "sample_rate", None)
        hop = getattr(layer, "hop_length", None)
        if rate and hop:
            return {"sample_rate": rate, "hop": hop}
    return {"sample_rate": None, "hop": None}


def _layers(model):
    """What the layers cost, for the runner's profile."""
    if not recurrent_layers(model):
        return []
    length = _rates(model)["sample_rate"] or 64
    profile, longer = (dense_profile(model, n) for n in (length, 2 * length))
    described = []
    for layer, other in zip(profile.layers, longer.layers):
        runs, more = (
            figures.steps * found.steps_per_second / figures.steps_per_second
            for figures, found in ((profile, layer), (longer, other))
        )
        fixed = round(runs) if round(runs) == round(more) else None
        described.append(description.describe_layer(layer, fixed))
    return described
