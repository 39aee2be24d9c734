"""The SpaR layer."""

import keras

from keras_duspar.cells.spar import SpaRCell
from keras_duspar.layers.parallel import ParallelLayer


@keras.saving.register_keras_serializable(package="keras_duspar")
class SpaR(ParallelLayer):
    """Sparsifying Recurrent unit.

    See `SpaRCell` for the equations: half of a DuSpaR, without the feedback
    that modulates the input.

    Example:

    >>> inputs = np.random.random((32, 10, 8))
    >>> spar = keras_duspar.SpaR(4)
    >>> tuple(spar(inputs).shape)
    (32, 4)
    """

    cell_class = SpaRCell
