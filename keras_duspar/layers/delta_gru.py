"""The DeltaGRU layer."""

import keras

from keras_duspar.cells.delta_gru import DeltaGRUCell
from keras_duspar.layers.base import RecurrentLayer


@keras.saving.register_keras_serializable(package="keras_duspar")
class DeltaGRU(RecurrentLayer):
    """Gated Recurrent Unit that reads only what has changed.

    See `DeltaGRUCell` for the equations.

    Example:

    >>> inputs = np.random.random((32, 10, 8))
    >>> delta_gru = keras_duspar.DeltaGRU(4)
    >>> tuple(delta_gru(inputs).shape)
    (32, 4)
    """

    cell_class = DeltaGRUCell
