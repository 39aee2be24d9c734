"""Audio front end as Keras layers: raw samples go into the model."""

from keras_duspar.audio.framing import Frames
from keras_duspar.audio.framing import OverlapAdd
from keras_duspar.audio.log_mel import LogMel
from keras_duspar.audio.log_mel import mel_filters
from keras_duspar.audio.pooling import TemporalPooling
from keras_duspar.audio.spec_augment import SpecAugment
