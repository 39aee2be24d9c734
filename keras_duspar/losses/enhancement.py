"""The weighted sum of losses that ends the training of the enhancer."""

import functools

import keras
from keras import ops

from keras_duspar.losses.pmsqe import PMSQE
from keras_duspar.losses.si_snr import NegativeSISNR
from keras_duspar.losses.stoi import STOI
from keras_duspar.losses.waveforms import WaveformLoss
from keras_duspar.utils import checks
from keras_duspar.utils.configs import own_config


@keras.saving.register_keras_serializable(package="keras_duspar")
class Enhancement(WaveformLoss):
    """Weighted sum of MSE, PMSQE, STOI loss and negative SI-SNR.

    The paper trains the enhancer with the mean squared error first and with
    this sum then, but does not give the weights.

    The default weights give the four terms gradients of about the same size
    where that second stage begins. Measured on the 120 mixtures of
    `mix_val.csv` by `studies/perceptual_losses.py`: an ideal Wiener filter
    stands for the model after the first stage, since it has the least squared
    error (its SI-SNR is 18.6 dB, the median). The medians of the gradients'
    norms with respect to the samples of the estimate are then

    | term | norm | weight | product |
    |---|---|---|---|
    | MSE | 2.29e-5 | 4e5 | 9.2 |
    | PMSQE | 10.3 | 1 | 10.3 |
    | STOI loss | 2.90 | 3.5 | 10.2 |
    | negative SI-SNR, in dB | 18.9 | 0.5 | 9.5 |

    Three of the terms do not depend on the level of the audio; the squared
    error grows with its power. The weight is for speech at -34 dB of full
    scale: for louder speech divide it by the ratio of the powers.

    Args:
        mse_weight: Float, at least 0, weight of the mean squared error of the
            samples. Default: 4e5.
        pmsqe_weight: Float, at least 0, weight of
            `keras_duspar.losses.PMSQE`. Default: 1.
        stoi_weight: Float, at least 0, weight of `keras_duspar.losses.STOI`.
            Default: 3.5.
        si_snr_weight: Float, at least 0, weight of
            `keras_duspar.losses.NegativeSISNR`. Default: 0.5.

    Example:

    >>> clean = np.random.default_rng(0).normal(size=(1, 16000))
    >>> loss = keras_duspar.losses.Enhancement()
    >>> bool(loss(clean, clean) < loss(clean, clean[:, ::-1]))
    True
    """

    shortest = PMSQE.shortest

    def __init__(
        self,
        mse_weight=4e5,
        pmsqe_weight=1.0,
        stoi_weight=3.5,
        si_snr_weight=0.5,
        reduction="sum_over_batch_size",
        name="enhancement",
        dtype=None,
    ):
        super().__init__(reduction=reduction, name=name, dtype=dtype)
        weight = functools.partial(checks.number, interval="[0, inf)")
        self.mse_weight = weight("mse_weight", mse_weight)
        self.pmsqe_weight = weight("pmsqe_weight", pmsqe_weight)
        self.stoi_weight = weight("stoi_weight", stoi_weight)
        self.si_snr_weight = weight("si_snr_weight", si_snr_weight)
        weighted = (
            (self.pmsqe_weight, PMSQE(dtype=dtype)),
            (self.stoi_weight, STOI(dtype=dtype)),
            (self.si_snr_weight, NegativeSISNR(dtype=dtype)),
        )
        # A term that does not count costs no time.
        self.terms = [(weight, loss) for weight, loss in weighted if weight]
        self.shortest = max(
            (loss.shortest for _, loss in self.terms), default=1
        )

    def compare(self, y_true, y_pred):
        error = ops.mean(ops.square(y_pred - y_true), axis=1)
        total = self.mse_weight * error
        for weight, loss in self.terms:
            total = total + weight * loss.compare(y_true, y_pred)
        return total

    def get_config(self):
        return {**super().get_config(), **own_config(self, Enhancement)}
