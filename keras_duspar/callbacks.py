"""Callbacks for `model.fit()`."""

import keras

from keras_duspar.profiling.batches import list_batches
from keras_duspar.profiling.profile import Profiler


class Occupancy(keras.callbacks.Callback):
    """Logs occupancy and effective products at the end of every epoch.

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
