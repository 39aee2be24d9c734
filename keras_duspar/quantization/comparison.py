"""What quantization changes in a model, by tensor and by layer."""

import dataclasses

import keras
import numpy as np
from keras import ops

from keras_duspar.quantization.model import check_model
from keras_duspar.quantization.model import check_quantized
from keras_duspar.utils.batches import list_batches
from keras_duspar.utils.tables import text_table


@dataclasses.dataclass(frozen=True)
class TensorReport:
    """What is known of a tensor that is rounded.

    Attributes:
        name: String, the path of the tensor in the model.
        kind: String, `"kernel"`, or `"range"` for operands and states.
        type: String, what it is rounded to.
        largest: Float, its largest magnitude, or its range.
        error: Float, the norm of what rounding changes over the norm of the
            kernel; `None` for operands and states, which depend on data.
    """

    name: str
    kind: str
    type: str
    largest: float
    error: float | None


@dataclasses.dataclass(frozen=True)
class Summary:
    """The ranges and errors of a quantized model; `print()` shows them.

    Attributes:
        tensors: List of `TensorReport`.
    """

    tensors: list

    def __str__(self):
        rows = [
            (
                tensor.name,
                tensor.type,
                f"{tensor.largest:.4g}" if tensor.largest else "not observed",
                "" if tensor.error is None else _percent(tensor.error),
            )
            for tensor in self.tensors
        ]
        columns = ("tensor", "type", "range", "error")
        return text_table(columns, rows, left=columns[:2])


def summary(model):
    """The ranges and rounding errors of a quantized model, by tensor.

    Args:
        model: A model that `quantize()` returned.

    Returns:
        A `Summary`: print it, or read its `tensors`.

    Example:

    >>> model = keras.Sequential(
    ...     [keras.Input((None, 4)), keras_duspar.SpaR(8)])
    >>> quantized = keras_duspar.quantize(model)
    >>> [t.kind for t in keras_duspar.quantization.summary(quantized).tensors]
    ['kernel', 'kernel', 'range']
    """
    found = []
    for path, layer in check_quantized(check_model(model)).items():
        quantizer = layer.quantizer
        for kernel in layer.kernels:
            before = _numpy(kernel)
            after = _numpy(quantizer.rounded_kernel(kernel))
            found.append(
                TensorReport(
                    f"{path}/{kernel.name}",
                    "kernel",
                    str(quantizer.scheme.weights),
                    float(np.abs(before).max()),
                    _change(before, after),
                )
            )
        for name, variable in quantizer.ranges.items():
            found.append(
                TensorReport(
                    f"{path}/{name}",
                    "range",
                    quantizer.type_of(name),
                    float(_numpy(variable)),
                    None,
                )
            )
    return Summary(found)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A quantized model compared with the original; `print()` shows it.

    Attributes:
        layers: Dictionary of the name of a layer to the norm of the change of
            its output over the norm of the output, on the same data, the
            worst first. What layers before it changed is in it.
        outputs: Dictionary of the name of an output to the same.
        agreement: Dictionary of the name of an output to the share of vectors
            whose largest entry is the same; outputs of one feature are left
            out.
    """

    layers: dict
    outputs: dict
    agreement: dict

    def __str__(self):
        rows = []
        for name, error in self.outputs.items():
            same = self.agreement.get(name)
            rows.append(
                (
                    f"output {name}",
                    _percent(error),
                    "" if same is None else _percent(same),
                )
            )
        rows += [(n, _percent(error), "") for n, error in self.layers.items()]
        columns = ("layers, the worst first", "change", "same decision")
        return text_table(columns, rows, left=columns[:1])


def compare(model, quantized, data, batch_size=32):
    """Runs a model and its quantized copy on data, and compares them.

    Args:
        model: The model before.
        quantized: The model that `quantize()` returned.
        data: Input of the models, in the forms that `keras_duspar.profile()`
            takes.
        batch_size: Positive integer, how arrays are cut. Default: 32.

    Returns:
        A `Comparison`: print it, or read its attributes.
    """
    check_quantized(check_model(quantized))
    # The layers that stand on their own in both, in which nothing is shared.
    names = [
        layer.name
        for layer in quantized.layers
        if layer.trainable_weights and _single(layer)
    ]
    pair = [_watched(m, names) for m in (model, quantized)]
    outputs = [
        name.split("/")[0]
        for name in getattr(quantized, "output_names", None)
        or [quantized.layers[-1].name]
    ]
    sums = np.zeros((2, len(outputs) + len(names)))
    same = np.zeros((2, len(outputs)))
    for batch in list_batches(model, data, batch_size):
        first, second = (
            [np.asarray(x, "float64") for x in m.predict_on_batch(batch)]
            for m in pair
        )
        for i, (a, b) in enumerate(zip(first, second)):
            sums[:, i] += np.square(a).sum(), np.square(a - b).sum()
        for i, (a, b) in enumerate(zip(first, second[: len(outputs)])):
            if a.shape[-1] > 1 and a.ndim > 1:
                agrees = a.argmax(axis=-1) == b.argmax(axis=-1)
                same[:, i] += agrees.size, agrees.sum()
    change = np.sqrt(sums[1] / np.maximum(sums[0], 1e-30))
    layers = dict(zip(names, change[len(outputs) :].tolist()))
    return Comparison(
        dict(sorted(layers.items(), key=lambda item: -item[1])),
        dict(zip(outputs, change.tolist())),
        {n: b / a for n, a, b in zip(outputs, *same.tolist()) if a},
    )


def _single(layer):
    try:
        return isinstance(layer.output, keras.KerasTensor)
    except AttributeError:  # called more than once
        return False


def _watched(model, names):
    """A model that also returns the outputs of some layers."""
    outputs = keras.tree.flatten(model.outputs)
    outputs += [model.get_layer(name).output for name in names]
    inputs = model.inputs
    if isinstance(model, keras.Sequential):
        inputs = inputs[0]
    elif hasattr(model, "input"):
        inputs = model.input
    return keras.Model(inputs, outputs)


def _numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor), "float64")


def _change(before, after):
    norm = np.linalg.norm(before)
    return float(np.linalg.norm(after - before) / norm) if norm else 0.0


def _percent(fraction):
    return f"{100 * fraction:.3g} %"
