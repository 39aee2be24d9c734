"""Ranges estimated from data, without training."""

import contextlib

import keras
import numpy as np

from keras_duspar.quantization.model import check_model
from keras_duspar.quantization.model import check_quantized
from keras_duspar.utils import checks
from keras_duspar.utils.batches import list_batches


class Observer(keras.Model):
    """Calls a quantized model and returns the largest values it rounded.

    As a model it is compiled by every backend in its own way.
    """

    def __init__(self, model, quantizers):
        super().__init__(name="observer")
        self.inner = model
        self.quantizers = quantizers

    def call(self, inputs):
        found = {}
        with contextlib.ExitStack() as stack:
            for path, quantizer in self.quantizers.items():
                collected = found[path] = {}
                stack.enter_context(quantizer.collecting(collected))
            self.inner(inputs, training=False)
        return {
            f"{path}:{name}": keras.ops.reshape(value, (1,))
            for path, maxima in found.items()
            for name, value in maxima.items()
        }


def calibrate(model, data, batch_size=32):
    """Sets the ranges of a quantized model from data, without training.

    Every range becomes the mean, over the batches, of the largest value in a
    batch, measured before operands are rounded.

    Args:
        model: A model that `quantize()` returned.
        data: Input of the model, in the forms that `keras_duspar.profile()`
            takes.
        batch_size: Positive integer, how arrays are cut. Default: 32.

    Example:

    >>> model = keras.Sequential(
    ...     [keras.Input((None, 4)), keras_duspar.DuSpaR(8)])
    >>> quantized = keras_duspar.quantize(model)
    >>> keras_duspar.quantization.calibrate(
    ...     quantized, np.random.normal(size=(64, 5, 4)))
    """
    layers = check_quantized(check_model(model))
    quantizers = {
        path: layer.quantizer
        for path, layer in layers.items()
        if layer.quantizer.ranges
    }
    if not quantizers:  # kernels need no data
        return
    for quantizer in quantizers.values():
        for variable in quantizer.ranges.values():
            variable.assign(0.0)
    observer = Observer(model, quantizers)
    observed = [
        observer.predict_on_batch(batch)
        for batch in list_batches(model, data, batch_size)
    ]
    if not observed:
        raise checks.bad_value("data", "at least one batch", data)
    for path, quantizer in quantizers.items():
        for name, variable in quantizer.ranges.items():
            key = f"{path}:{name}"
            if key not in observed[0]:
                continue  # never called: check_ranges() reports it
            value = np.mean([float(batch[key][0]) for batch in observed])
            if not np.isfinite(value):
                raise ValueError(
                    f"`data` gives NaN or infinity in {path}/{name} of "
                    f"`model` {model.name!r}, which has no range then."
                )
            variable.assign(value)
