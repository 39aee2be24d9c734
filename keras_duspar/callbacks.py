"""Callbacks for `model.fit()`."""

import warnings

import keras
import numpy as np
from keras import ops

from keras_duspar import pruning
from keras_duspar import quantization
from keras_duspar.budgets import frame_times
from keras_duspar.budgets import targets
from keras_duspar.budgets.controller import Controller
from keras_duspar.budgets.meters import Meters
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


class Budget(keras.callbacks.Callback):
    """Trains a model until a frame costs no more than it may.

    Adds to the loss what the occupancy of DuSpaR, SpaR, DeltaGRU and EGRU
    layers costs, and sets the price after every step, so that the occupancy
    of the model falls in a line from what it is to the target and stays
    there. Only the gradient is added: losses are shown as without it. The
    logs of every epoch get `budget_occupancy`, `budget_aim` and
    `budget_weight`.

    Only training is changed; the model is saved without any trace of it. The
    same object goes on in a second `fit()`. See `docs/budgets.md`.

    Args:
        occupancy: Float in `(0, 1)`, the share of the model's MACs that are
            left, as `keras_duspar.profile()` counts them.
        macs_per_second: Float above 0, in place of it: effective MACs of the
            whole model.
        microseconds: Float above 0, in place of it: time per frame of the
            recurrent layers, which must be DuSpaR or SpaR, in float32 on one
            thread. It is measured on this machine when training begins.
        table: Path of a file that `keras-duspar benchmark --table` wrote on
            another machine, to be read in place of measuring.
        data: Input of the model on which the budget is to be met, as in
            `Occupancy`. Default: `None`, that of training, which may be
            augmented and so cost more or less.
        steps: Positive integer, training steps until the target is reached.
            Default: `None`, 60 % of the training.
        width: Float above 0: how near to zero an entry of an operand must be
            to be moved. Default: 0.3.
        steps_per_second: Float, as in `keras_duspar.profile()`.

    Example:

    >>> model = keras.Sequential(
    ...     [keras.Input((None, 4)), keras_duspar.DuSpaR(8)])
    >>> model.compile("adam", "mse")
    >>> x, y = np.random.normal(size=(64, 5, 4)), np.random.random((64, 8))
    >>> budget = keras_duspar.callbacks.Budget(occupancy=0.3)
    >>> history = model.fit(x, y, epochs=2, verbose=0, callbacks=[budget])
    >>> history.history["budget_aim"][-1]
    0.3
    """

    def __init__(
        self,
        occupancy=None,
        macs_per_second=None,
        microseconds=None,
        *,
        table=None,
        data=None,
        steps=None,
        width=0.3,
        steps_per_second=None,
    ):
        super().__init__()
        self.kind, self.budget = targets.only(
            occupancy=occupancy,
            macs_per_second=macs_per_second,
            microseconds=microseconds,
        )
        if table is not None and self.kind != "microseconds":
            raise checks.bad_value(
                "table", "None without `microseconds`", table
            )
        self.table = table
        self.data, self.steps_per_second = data, steps_per_second
        if steps is not None:
            checks.positive_integer("steps", steps)
        self.steps = steps
        self.width = checks.number("width", width, "(0, inf)")
        self.controller = self.meters = None

    def on_train_begin(self, logs=None):
        if self.data is not None:
            self.profiled = Occupancy(self.data, self.steps_per_second)
            self.profiled.set_model(self.model)
            self.profiled.on_train_begin()
        self.begin()
        self.model.make_train_function(force=True)

    def begin(self):
        """Turns on the meters of the model, before it is compiled."""
        self.meters = Meters(self.model, self.width, self.steps_per_second)
        target = self._target()
        if self.controller is None:
            self.controller = Controller(target, self._ramp())
        self.meters.set_weight(self.controller.weight)

    def _target(self):
        """The occupancy that is meant."""
        fixed, profile = self.meters.fixed, self.meters.profile
        least, most, table = fixed, 1.0, None
        if self.kind == "macs_per_second":
            least, most = (n * profile.dense_macs for n in (fixed, 1.0))
        elif self.kind == "microseconds":
            table = self._times(profile)
            least, most = table[0][1], table[-1][1]
        if not least < self.budget < most:
            self.end()
            raise ValueError(
                f"`{self.kind}` must be between {least:.6g}, what is left if "
                "all operands of recurrent layers are zero, and "
                f"{most:.6g}, what it is if nothing is skipped. Received: "
                f"{self.kind}={self.budget:.6g}."
            )
        if table is not None:
            share = frame_times.occupancy_at(table, self.budget)
            return fixed + (1 - fixed) * share
        return self.budget / most

    def _times(self, profile):
        """Times of the recurrent layers at several occupancies."""
        layers = [layer for layer in profile.layers if layer.recurrent]
        layers = frame_times.stack(layers, profile.steps_per_second)
        if self.table is None:
            return frame_times.measure(layers)
        return frame_times.read(self.table, layers)

    def _ramp(self):
        if self.steps is not None:
            return self.steps
        epochs, steps = (self.params.get(n) for n in ("epochs", "steps"))
        if not steps:
            raise ValueError(
                "`steps` must be given where `fit()` does not know how many "
                "steps an epoch has. Received: steps=None."
            )
        return max(1, round(0.6 * epochs * steps))

    def on_epoch_begin(self, epoch, logs=None):
        self._seen = -1  # the last batch of the epoch that was counted

    def on_train_batch_end(self, batch, logs=None):
        backends.sync_variables(self.model)
        self.after_steps(batch - self._seen, (logs or {}).get("loss", 1.0))
        self._seen = batch

    def after_steps(self, steps=1, loss=1.0):
        """Sets the price after training steps."""
        first = self.controller.start is None
        self.controller.update(self.meters.occupancy, steps, float(loss))
        self.meters.set_weight(self.controller.weight)
        start = self.controller.start
        target = self.controller.target
        if first and start is not None and start <= target:
            warnings.warn(
                f"The model's occupancy is {start:.4f} already, not above the "
                f"budget's {target:.4f}, which will hardly change anything.",
                stacklevel=2,
            )

    def on_epoch_end(self, epoch, logs=None):
        if self.data is not None:
            found = {}
            self.profiled.on_epoch_end(epoch, found)
            self.controller.calibrate(found["occupancy"])
        if logs is not None:
            logs.update(self.logs())

    def logs(self):
        """Where the budget stands, for the logs of an epoch."""
        return {
            f"budget_{name}": getattr(self.controller, name)
            for name in ("aim", "occupancy", "weight")
        }

    def on_train_end(self, logs=None):
        self.end()
        self.model.make_train_function(force=True)

    def end(self):
        """Turns the meters off."""
        self.meters.remove()


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
