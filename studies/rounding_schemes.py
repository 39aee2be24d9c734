"""Rounds the model of a keyword-spotting run and tests what is left.

    python studies/rounding_schemes.py RUN --data FOLDER

Every scheme is applied after training, with ranges from validation data, and
simulated in Keras on the test data.
"""

import argparse
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "recipes"))

import keras
import numpy as np

import keras_duspar
import kws
from keras_duspar import QuantScheme
from keras_duspar import quantization
from trainer import config as configs

SCHEMES = (
    QuantScheme("bfloat16", "float32"),
    QuantScheme("int8", "float32"),
    QuantScheme("int8", "uint8"),
    QuantScheme("int8", "uint7"),
    QuantScheme("int8", "uint8", "int16"),
    QuantScheme("int8", "uint8", "int8"),
    QuantScheme("int4", "float32"),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=pathlib.Path, help="folder of the run")
    parser.add_argument("--data", help="its data, if it has moved")
    parser.add_argument(
        "--batches", type=int, default=4, help="of data for ranges (default: 4)"
    )
    arguments = parser.parse_args()
    moved = {"data": arguments.data} if arguments.data else {}
    config = configs.make(kws.Config, moved, arguments.run / "config.json")
    task = kws.KeywordSpotting(config, progress=False)
    model = keras.models.load_model(arguments.run / "model.keras")
    calibration = list(task.unpadded("validation", arguments.batches))
    test = list(task.serve(task.batches("test")))
    audio = [batch for batch, _ in test]
    labels = np.concatenate([labels for _, labels in test])
    decisions = None
    for scheme in (None, *SCHEMES):
        rounded = model
        if scheme is not None:
            rounded = keras_duspar.quantize(model, scheme)
            quantization.calibrate(rounded, calibration)
        logits = [rounded.predict_on_batch(batch) for batch in audio]
        words = np.concatenate(logits).argmax(axis=1)
        decisions = words if decisions is None else decisions
        occupancy = keras_duspar.profile(rounded, audio).occupancy
        print(
            f"{scheme or 'float32'}: accuracy "
            f"{100 * np.mean(words == labels):.2f} %, same decision "
            f"{100 * np.mean(words == decisions):.1f} %, occupancy "
            f"{100 * occupancy:.2f} %",
            flush=True,
        )


if __name__ == "__main__":
    main()
