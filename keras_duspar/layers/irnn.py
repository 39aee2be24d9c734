"""The IRNN layer."""

import keras

from keras_duspar.cells.irnn import IRNNCell
from keras_duspar.layers.base import RecurrentLayer


@keras.saving.register_keras_serializable(package="keras_duspar")
class IRNN(RecurrentLayer):
    """Rectified recurrent unit that starts as the identity.

    See `IRNNCell` for the equation. Unstable on long sequences.

    Example:

    >>> inputs = np.random.random((32, 10, 8))
    >>> irnn = keras_duspar.IRNN(4)
    >>> tuple(irnn(inputs).shape)
    (32, 4)
    """

    cell_class = IRNNCell
