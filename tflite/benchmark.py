"""Measures .tflite files: `python tflite/benchmark.py --help`.

The same as `keras-duspar benchmark`.
"""

import sys

from keras_duspar.cli import main

if __name__ == "__main__":
    sys.exit(main(["benchmark", *sys.argv[1:]]))
