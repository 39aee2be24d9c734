"""Scale-invariant signal-to-noise ratio as a loss."""

import keras
import numpy as np
from keras import ops

from keras_duspar.losses.waveforms import WaveformLoss
from keras_duspar.utils import checks


@keras.saving.register_keras_serializable(package="keras_duspar")
class NegativeSISNR(WaveformLoss):
    """Negative scale-invariant signal-to-noise ratio, in dB.

    Both signals lose their mean. The estimate is split into its projection
    on the target and the rest, and the ratio of their powers is the SI-SNR:

    ```
    projection = mean(y_pred * y_true) / (mean(y_true**2) + epsilon) * y_true
    rest = y_pred - projection
    loss = -10 * log10((mean(projection**2) + epsilon)
                       / (mean(rest**2) + epsilon))
    ```

    `epsilon` keeps loss and gradient finite for a perfect estimate and for
    silence. A silent target asks for a silent estimate.

    Args:
        epsilon: Float, positive, a power. Default: 1e-8, which is 80 dB
            below full scale; the loss of speech of a usual level (-26 dB)
            then ends at about -54 dB.

    Call arguments:
        y_true: Clean audio, with shape `(batch, samples)`.
        y_pred: Estimated audio of the same shape.

    Reference:
        Le Roux et al., 2019, "SDR - half-baked or well done?",
        https://arxiv.org/abs/1811.02508

    Example:

    >>> clean = np.sin(np.arange(16000.0))[np.newaxis]
    >>> noisy = clean + 0.1 * np.cos(np.arange(16000.0))
    >>> loss = keras_duspar.losses.NegativeSISNR()
    >>> round(float(loss(clean, noisy)), 1)
    -20.0
    """

    def __init__(
        self,
        epsilon=1e-8,
        reduction="sum_over_batch_size",
        name="negative_si_snr",
        dtype=None,
    ):
        super().__init__(reduction=reduction, name=name, dtype=dtype)
        self.epsilon = checks.number("epsilon", epsilon, "(0, inf)")

    def compare(self, y_true, y_pred):
        target = y_true - ops.mean(y_true, axis=1, keepdims=True)
        estimate = y_pred - ops.mean(y_pred, axis=1, keepdims=True)
        scale = mean_product(estimate, target) / (
            mean_product(target, target) + self.epsilon
        )
        projection = scale * target
        rest = estimate - projection
        # A difference of logarithms: their arguments' ratio could overflow.
        log_ratio = ops.log(
            mean_product(projection, projection) + self.epsilon
        ) - ops.log(mean_product(rest, rest) + self.epsilon)
        return -10 / np.log(10) * log_ratio[:, 0]

    def get_config(self):
        return {**super().get_config(), "epsilon": self.epsilon}


def mean_product(a, b):
    """Mean of `a * b` over the samples, with shape `(batch, 1)`."""
    return ops.mean(a * b, axis=1, keepdims=True)
