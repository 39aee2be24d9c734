"""Audio front end as Keras layers: raw samples go into the model."""

from keras_duspar.utils import lazy

lazy.attach(
    __name__,
    {
        ".framing": "Frames OverlapAdd",
        ".log_mel": "LogMel mel_filters",
        ".pooling": "TemporalPooling",
        ".spec_augment": "SpecAugment",
    },
)
