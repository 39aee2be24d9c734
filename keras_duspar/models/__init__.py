"""The paper's three models, with any registered recurrent layer; presets."""

from keras_duspar.utils import lazy

lazy.attach(
    __name__,
    {
        ".intent_recognizer": "group_samples intent_recognizer",
        ".gru_replacement": "from_gru",
        ".keyword_spotter": "keyword_spotter",
        ".preset_files": "from_preset preset_card presets",
        ".speech_enhancer": "speech_enhancer",
    },
)
