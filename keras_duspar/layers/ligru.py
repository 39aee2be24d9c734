"""The LiGRU layer."""

import keras

from keras_duspar.cells.ligru import LiGRUCell
from keras_duspar.layers.base import RecurrentLayer


@keras.saving.register_keras_serializable(package="keras_duspar")
class LiGRU(RecurrentLayer):
    """Light Gated Recurrent Unit.

    See `LiGRUCell` for the equations. Unstable on long sequences.

    Example:

    >>> inputs = np.random.random((32, 10, 8))
    >>> ligru = keras_duspar.LiGRU(4)
    >>> tuple(ligru(inputs).shape)
    (32, 4)
    """

    cell_class = LiGRUCell
