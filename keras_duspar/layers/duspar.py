"""The DuSpaR layer."""

import keras

from keras_duspar.cells.duspar import DuSpaRCell
from keras_duspar.layers.base import RecurrentLayer


@keras.saving.register_keras_serializable(package="keras_duspar")
class DuSpaR(RecurrentLayer):
    """Dual-state Sparsifying Recurrent unit.

    See `DuSpaRCell` for the equations. The layer takes the place of
    `keras.layers.GRU`; its matrix products read rectified vectors only, and
    `keras_duspar.profile()` tells how many products their zeros save.

    Example:

    >>> inputs = np.random.random((32, 10, 8))
    >>> duspar = keras_duspar.DuSpaR(4)
    >>> tuple(duspar(inputs).shape)
    (32, 4)
    >>> duspar = keras_duspar.DuSpaR(
    ...     4, return_sequences=True, return_state=True)
    >>> output, f, g = duspar(inputs)
    >>> tuple(output.shape), tuple(f.shape), tuple(g.shape)
    ((32, 10, 4), (32, 4), (32, 8))
    """

    cell_class = DuSpaRCell
