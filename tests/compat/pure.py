"""The package without its library: what works, and what is said of the rest.

python pure.py KEPT    # the folder of kept files
"""

import pathlib
import sys

import keras
import numpy as np
import smoke

import keras_duspar


def refused(call):
    """The message with which a call asks for the library."""
    try:
        call()
    except (FileNotFoundError, ValueError) as e:
        message = str(e)
    else:
        raise AssertionError("there must be no library here")
    assert "native library" in message and "C compiler" in message, message
    return message


def main(kept):
    model, audio = smoke.train()
    found = keras_duspar.profile(model, audio)
    assert 0 < found.occupancy < 1
    stream = keras_duspar.streaming.Stream(model)
    assert stream.samples == 256
    # A file of built-in operators needs none of ours.
    folder = kept / keras_duspar.__version__
    with np.load(folder / "expected.npz") as content:
        audio, expected = content["audio"], content["builtin.tflite"]
    runner = keras_duspar.tflite.load(folder / "builtin.tflite")
    y = runner(audio)
    np.testing.assert_allclose(y, expected, atol=2e-5)

    refused(keras_duspar.native.load)
    refused(keras_duspar.tflite.delegate_path)
    print(refused(lambda: keras_duspar.tflite.load(folder / "spotter.tflite")))
    layer = keras_duspar.DuSpaR(4, implementation="native")
    x = keras.ops.ones((1, 2, 3))
    print(refused(lambda: layer(x, training=True)))
    print("ok: trains and runs built-in operators in pure Python")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
