"""Time of a step of a layer whose rows of weights are pruned.

    python studies/pruned_rows.py

DuSpaR layers of 128 features and units with random weights, of which a share
of the rows is zero, take turns on random numbers in the native library. Prints
the median and the least microseconds per step, and the occupancy.
"""

import argparse
import time

import numpy as np

from keras_duspar import native
from keras_duspar.profiling import text_table

SHARES = (0, 0.01, 0.25, 0.5, 0.75)
SIZE, STEPS = 128, 1000


def make_layer(rng, share):
    """A layer in which `share` of the rows of each kernel are zero."""
    weights = {name: np.zeros(SIZE) for name in _biases()}
    for cell in ("feedforward", "feedback"):
        rows = rng.permutation(SIZE)[: round(share * SIZE)]
        for kernel in ("gate_kernel", "candidate_kernel"):
            values = rng.normal(0, SIZE**-0.5, (SIZE, SIZE))
            values[rows] = 0
            weights[f"{cell}/{kernel}"] = values
    return native.Layer("duspar", weights)


def _biases():
    for cell in ("feedforward", "feedback"):
        yield from (f"{cell}_bias", f"{cell}/gate_bias")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, STEPS, SIZE)).astype("float32")
    layers = [make_layer(rng, share) for share in SHARES]
    times = np.zeros((len(layers), rounds))
    occupancy = np.zeros(len(layers))
    for turn in range(rounds):
        for i, layer in enumerate(layers):
            began = time.perf_counter()
            counts = layer(x)[2]
            times[i, turn] = 1e6 * (time.perf_counter() - began) / STEPS
            occupancy[i] = sum(counts.nonzeros) / (2 * SIZE * counts.steps)
    rows = [
        (
            f"{share:.0%}",
            f"{np.median(of_layer):.2f}",
            f"{of_layer.min():.2f}",
            f"{100 * occupied:.1f}",
        )
        for share, of_layer, occupied in zip(SHARES, times, occupancy)
    ]
    print(text_table(["pruned", "median us", "least us", "occupancy %"], rows))


if __name__ == "__main__":
    main()
