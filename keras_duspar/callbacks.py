"""Callbacks for `model.fit()`."""

import keras
import numpy as np
from keras import ops

from keras_duspar import pruning
from keras_duspar import quantization
from keras_duspar.profiling.profile import Profiler
from keras_duspar.utils import backends
from keras_duspar.utils import checks
from keras_duspar.utils.batches import list_batches


class Occupancy(keras.callbacks.Callback):
    """Logs occupancy and effective MACs at the end of every epoch.

    Adds `occupancy` and `effective_macs` to the logs, and so to the history,
    the progress bar of the next callbacks, `CSVLogger` and `TensorBoard`, and
    the occupancy of each recurrent layer as `occupancy/LAYER`. Put it before
    callbacks that are to see them.

    Args:
        data: Input of the model, in the forms that `keras_duspar.profile()`
            takes; a validation batch is enough. It is read once, when
            training begins.
        steps_per_second: Float, as in `keras_duspar.profile()`.
        batch_size: Positive integer, how arrays are cut. Default: 32.

    Example:

    >>> model = keras.Sequential([keras_duspar.DuSpaR(8)])
    >>> model.compile("adam", "mse")
    >>> x, y = np.random.random((64, 5, 4)), np.random.random((64, 8))
    >>> history = model.fit(
    ...     x, y, epochs=2, verbose=0,
    ...     callbacks=[keras_duspar.callbacks.Occupancy(x[:8])])
    >>> len(history.history["occupancy"])
    2
    """

    def __init__(self, data, steps_per_second=None, batch_size=32):
        super().__init__()
        self.data = data
        self.steps_per_second = steps_per_second
        self.batch_size = batch_size

    def on_train_begin(self, logs=None):
        # A generator or a shuffled data set would give other data each time.
        self.batches = list(
            list_batches(self.model, self.data, self.batch_size)
        )
        self.profiler = Profiler(self.model, self.steps_per_second)

    def on_epoch_end(self, epoch, logs=None):
        result = self.profiler.profile(self.batches)
        if logs is None:
            return
        logs["occupancy"] = result.occupancy
        logs["effective_macs"] = result.effective_macs
        for layer in result.layers:
            if layer.recurrent:
                logs[f"occupancy/{layer.name}"] = layer.occupancy


class Prune(keras.callbacks.Callback):
    """Sets the smallest weights of kernels to zero while a model trains.

    Kernels are the weight matrices of recurrent and dense layers. The share
    of zeros grows from nothing to the target; between two prunings, what is
    zero stays zero. Adds `weight_sparsity` to the logs of every epoch;
    `keras_duspar.profile()` tells it beside the occupancy.

    Args:
        schedule: Float in `(0, 1)`, the share of zeros at the end; or a
            pruning schedule of `tensorflow_model_optimization`, that is a
            callable that takes the number of a step and returns whether to
            prune at it and the share of zeros.
        begin_step: Integer, the first step at which to prune. Default: 0.
        end_step: Positive integer, the step at which the target is reached:
            needed if `schedule` is a number.
        frequency: Positive integer, steps between two prunings. Default: 100.
        rows: Boolean, whether all weights that one entry of an operand is
            multiplied with are set to zero together, so that the entry needs
            no MAC at all. Default: `False`.

    Example:

    >>> model = keras.Sequential(
    ...     [keras.Input((None, 4)), keras_duspar.DuSpaR(8)])
    >>> model.compile("adam", "mse")
    >>> x, y = np.random.random((64, 5, 4)), np.random.random((64, 8))
    >>> prune = keras_duspar.callbacks.Prune(0.5, end_step=4, frequency=1)
    >>> history = model.fit(x, y, epochs=3, verbose=0, callbacks=[prune])
    >>> history.history["weight_sparsity"][-1]
    0.5
    """

    def __init__(
        self,
        schedule,
        begin_step=0,
        end_step=None,
        frequency=100,
        rows=False,
    ):
        super().__init__()
        if not callable(schedule):
            schedule = pruning.Ramp(schedule, begin_step, end_step, frequency)
        elif end_step is not None:
            raise checks.bad_value(
                "end_step", "None with a schedule that has its own", end_step
            )
        self.schedule = schedule
        self.rows = bool(rows)
        self.step = 0
        self.masks = {}

    def on_train_begin(self, logs=None):
        self.groups = pruning.kernel_groups(self.model)
        if not self.groups:
            raise ValueError(
                "`model` must have kernels to prune. Received: "
                f"{self.model.name!r} with none."
            )

    def on_train_batch_end(self, batch, logs=None):
        backends.sync_variables(self.model)
        now, sparsity = self.schedule(self.step)
        self.step += 1
        if bool(now):
            sparsity = checks.number("schedule", float(sparsity), "[0, 1)")
            for group in self.groups:
                self.masks.update(pruning.masks(group, sparsity, self.rows))
        for kernel, mask in self.masks.values():
            kernel.assign(ops.multiply(kernel, mask))

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            density = pruning.weight_density(self.model.layers)
            logs["weight_sparsity"] = float(np.round(1 - density, 12))


class FreezeRanges(keras.callbacks.Callback):
    """Stops the ranges of a quantized model when an epoch begins.

    Args:
        epoch: Integer, the epoch, counted from 0.

    Example:

    >>> freeze = keras_duspar.callbacks.FreezeRanges(epoch=8)
    """

    def __init__(self, epoch):
        super().__init__()
        # Before the first epoch there is nothing to freeze.
        self.epoch = checks.positive_integer("epoch", epoch)

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == self.epoch:
            quantization.freeze(self.model)
