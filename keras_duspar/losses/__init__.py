"""Losses of the three tasks, in `keras.ops`, for all backends."""

from keras_duspar.utils import lazy

lazy.attach(
    __name__,
    {
        ".ctc": "CTC ctc_loss pack_ctc_targets",
        ".decoding": "ctc_decode",
        ".enhancement": "Enhancement",
        ".pmsqe": "PMSQE",
        ".si_snr": "NegativeSISNR",
        ".stoi": "STOI",
    },
)
