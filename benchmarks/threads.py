"""How much faster a batch of recordings is with more threads.

    python benchmarks/threads.py

Converts an untrained keyword spotter for whole recordings and runs the file on
noise with each number of threads in turn. Prints the median milliseconds per
call; results of all must be equal to the last bit.
"""

import argparse
import os
import pathlib
import tempfile
import time

import numpy as np

from keras_duspar import models
from keras_duspar import tflite
from keras_duspar.profiling import text_table


def measure(runners, audio, rounds):
    """Milliseconds, a row per runner and a column per round."""
    expected = runners[0](audio)
    times = np.zeros((len(runners), rounds))
    for turn in range(rounds):
        for i, runner in enumerate(runners):
            began = time.perf_counter()
            result = runner(audio)
            times[i, turn] = 1e3 * (time.perf_counter() - began)
            np.testing.assert_array_equal(result, expected)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=25)
    arguments = parser.parse_args()
    model = models.keyword_spotter()
    samples = round(16_000 * arguments.seconds)
    rng = np.random.default_rng(0)
    audio = rng.normal(0, 0.1, (arguments.batch, samples)).astype("float32")
    threads = range(1, len(os.sched_getaffinity(0)) + 1)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "spotter.tflite"
        tflite.convert(model, path)
        runners = [tflite.load(path, num_threads=n) for n in threads]
        times = measure(runners, audio, arguments.rounds)
    medians = np.median(times, axis=1)
    rows = [
        (str(n), f"{median:.2f}", f"{medians[0] / median:.2f}")
        for n, median in zip(threads, medians)
    ]
    print(f"{arguments.batch} recordings of {arguments.seconds} s")
    print(text_table(("threads", "ms", "times as fast"), rows))


if __name__ == "__main__":
    main()
