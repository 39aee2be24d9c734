"""The MinGRU layer."""

import keras

from keras_duspar.cells.mingru import MinGRUCell
from keras_duspar.layers.parallel import ParallelLayer


@keras.saving.register_keras_serializable(package="keras_duspar")
class MinGRU(ParallelLayer):
    """Minimal Gated Recurrent Unit.

    See `MinGRUCell` for the equations.

    Example:

    >>> inputs = np.random.random((32, 10, 8))
    >>> mingru = keras_duspar.MinGRU(4)
    >>> tuple(mingru(inputs).shape)
    (32, 4)
    """

    cell_class = MinGRUCell
