"""The paper's three models, with any registered recurrent layer."""

from keras_duspar.models.intent_recognizer import group_samples
from keras_duspar.models.intent_recognizer import intent_recognizer
from keras_duspar.models.keyword_spotter import keyword_spotter
from keras_duspar.models.speech_enhancer import speech_enhancer
