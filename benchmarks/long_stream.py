"""Ten minutes through the streaming enhancer: memory, drift and speed.

    python benchmarks/long_stream.py runs/se-... [--minutes 10]

Noise that comes and goes is enhanced a millisecond at a time by the converted
model. Printed are the memory of the process before and after, the largest
difference from the Keras model over the first minute, and the time per frame.
"""

import argparse
import os
import pathlib
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np

from keras_duspar import tflite
from keras_duspar.streaming import Stream
from keras_duspar.utils.audio_files import SAMPLE_RATE


def resident_megabytes():
    """Memory of this process that is in use."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def second_of_noise(index):
    """One second of the recording, the same whenever it is asked for."""
    rng = np.random.default_rng(index)
    time = index + np.arange(SAMPLE_RATE) / SAMPLE_RATE
    noise = rng.normal(0, 0.1, SAMPLE_RATE) * np.sin(1.7 * time) ** 2
    return noise.astype("float32")


def keras_outputs(model, seconds):
    """What the Keras model gives, in chunks of a second, to save memory."""
    stream = Stream(model, SAMPLE_RATE // Stream(model).samples)
    parts = [
        stream.push(second_of_noise(index)[np.newaxis])
        for index in range(seconds)
    ]
    return np.concatenate(parts, axis=None)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", help="folder of a finished run of se.py")
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    model = keras.models.load_model(pathlib.Path(options.run) / "model.keras")
    with tempfile.TemporaryDirectory() as scratch:
        path = tflite.convert(
            model, pathlib.Path(scratch) / "se.tflite", streaming=True
        )
        runner = tflite.load(path)
    seconds = round(60 * options.minutes)
    expected = keras_outputs(model, min(seconds, 60))
    progress = keras.utils.Progbar(seconds, unit_name="second")
    first, spent, before = [], 0.0, None
    for index in range(seconds):
        noise = second_of_noise(index).reshape(-1, runner.samples)
        started = time.perf_counter()
        enhanced = [np.array(runner.step(chunk)) for chunk in noise]
        spent += time.perf_counter() - started
        if index < 60:
            first += enhanced
        elif before is None:
            before = resident_megabytes()
        progress.add(1)
    after = resident_megabytes()
    # Keras' stream has left out the delay.
    first = np.concatenate(first, axis=None)[runner.delay :]
    difference = abs(first - expected).max()
    print(f"largest difference in the first minute {difference:.1e}")
    if before is not None:
        print(f"memory after 1 min {before:.1f} MB, at the end {after:.1f} MB")
    print(
        f"time per frame {1e6 * spent / seconds / len(noise):.0f} us, "
        f"{100 * spent / seconds:.1f} % of real time, one core"
    )


if __name__ == "__main__":
    main()
