"""Converts a Keras model to TFLite: `python tflite/convert.py --help`.

The same as `keras-duspar convert`.
"""

import sys

from keras_duspar.cli import main

if __name__ == "__main__":
    sys.exit(main(["convert", *sys.argv[1:]]))
