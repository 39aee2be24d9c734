"""Chunk-by-chunk inference: a chunk of audio in, its outputs out."""

from keras_duspar.utils import lazy

lazy.attach(
    __name__,
    {
        ".detector": "Detector Event",
        # Behind the rules of Keras' layers, which one's own must not precede.
        ".layer_rules": "Recurrent register_stream",
        ".rules": "Signal State StreamRule",
        ".stream": "Stream",
    },
)
