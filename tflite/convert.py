"""Converts a Keras model to TFLite: `python tflite/convert.py --help`."""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

from keras_duspar.tflite import command

if __name__ == "__main__":
    command.main("convert")
