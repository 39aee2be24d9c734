"""Quality of enhanced speech, measured in NumPy."""

from keras_duspar.metrics.enhancement import evaluate_enhancement
from keras_duspar.metrics.pesq import pesq_wb
from keras_duspar.metrics.si_sdr import si_sdr
from keras_duspar.metrics.stoi import stoi
