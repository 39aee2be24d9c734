"""The layers over the package's cells, one class per cell."""

import keras

from keras_duspar.cells.delta_gru import DeltaGRUCell
from keras_duspar.cells.duspar import DuSpaRCell
from keras_duspar.cells.dynamic_gru import DynamicGRUCell
from keras_duspar.cells.egru import EGRUCell
from keras_duspar.cells.irnn import IRNNCell
from keras_duspar.cells.ligru import LiGRUCell
from keras_duspar.cells.mingru import MinGRUCell
from keras_duspar.cells.spar import SpaRCell
from keras_duspar.layers.base import RecurrentLayer
from keras_duspar.layers.parallel import ParallelLayer


@keras.saving.register_keras_serializable(package="keras_duspar")
class DuSpaR(RecurrentLayer):
    """Dual-state Sparsifying Recurrent unit.

    See `DuSpaRCell` for the equations. The layer takes the place of
    `keras.layers.GRU`. Its matrices are multiplied with rectified vectors
    only, and `keras_duspar.profile()` tells how many MACs their zeros save.

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
    default_name = "duspar"


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
    default_name = "spar"


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
    default_name = "mingru"


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


@keras.saving.register_keras_serializable(package="keras_duspar")
class EGRU(RecurrentLayer):
    """Event-based Gated Recurrent Unit.

    See `EGRUCell` for the equations. Its output is zero but for the units
    that have crossed their threshold.

    Example:

    >>> inputs = np.random.random((32, 10, 8))
    >>> egru = keras_duspar.EGRU(4)
    >>> tuple(egru(inputs).shape)
    (32, 4)
    """

    cell_class = EGRUCell


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
    default_name = "ligru"
