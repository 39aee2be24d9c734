"""Models that hear as they go: a chunk of audio in, its outputs out."""

from keras_duspar.streaming.layer_rules import Recurrent
from keras_duspar.streaming.rules import Signal
from keras_duspar.streaming.rules import State
from keras_duspar.streaming.rules import StreamRule
from keras_duspar.streaming.rules import register_stream
from keras_duspar.streaming.stream import Stream
