"""How much of a processor a stream takes, by the length of its chunks.

    KERAS_BACKEND=jax python benchmarks/stream_time.py

Runs the paper's speech enhancer, untrained, on noise and prints the seconds of
processor time that a second of audio takes once the step is compiled, the best
of three.
"""

import argparse
import time

import keras
import numpy as np

from keras_duspar import models
from keras_duspar.streaming import Stream


def processor_seconds(model, frames, repeats=3):
    """Processor time for one second of audio."""
    stream = Stream(model, frames)
    chunks = max(1, 4096 // stream.samples)
    audio = np.random.default_rng(1).normal(0, 0.1, (1, stream.samples))
    stream.push(audio)  # compiles
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        for _ in range(chunks):
            stream.push(audio)
        best = min(best, time.process_time() - began)
    return best * stream.sample_rate / (chunks * stream.samples)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recurrent", default="duspar")
    parser.add_argument("--units", type=int, default=116)
    arguments = parser.parse_args()
    model = models.speech_enhancer(arguments.recurrent, arguments.units)
    print(f"{keras.backend.backend()}, {arguments.recurrent}")
    for frames in (1, 8, 64, 1024):
        seconds = processor_seconds(model, frames)
        print(f"{frames:5d} frames per chunk  {seconds:.3f} s per second")


if __name__ == "__main__":
    main()
