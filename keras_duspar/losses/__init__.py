"""Losses of the three tasks, in `keras.ops`, for all backends."""

from keras_duspar.losses.ctc import CTC
from keras_duspar.losses.ctc import ctc_loss
from keras_duspar.losses.ctc import pack_ctc_targets
from keras_duspar.losses.decoding import ctc_decode
from keras_duspar.losses.enhancement import Enhancement
from keras_duspar.losses.pmsqe import PMSQE
from keras_duspar.losses.si_snr import NegativeSISNR
from keras_duspar.losses.stoi import STOI
