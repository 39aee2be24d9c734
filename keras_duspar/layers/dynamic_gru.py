"""The DynamicGRU layer."""

import keras

from keras_duspar.cells.dynamic_gru import DynamicGRUCell
from keras_duspar.layers.base import RecurrentLayer


@keras.saving.register_keras_serializable(package="keras_duspar")
class DynamicGRU(RecurrentLayer):
    """Gated Recurrent Unit that updates only some of its neurons.

    See `DynamicGRUCell` for the equations.

    Example:

    >>> inputs = np.random.random((32, 10, 8))
    >>> dynamic_gru = keras_duspar.DynamicGRU(4)
    >>> tuple(dynamic_gru(inputs).shape)
    (32, 4)
    """

    cell_class = DynamicGRUCell
