"""Makes a grid, and the results of a sweep with known curves, for tests.

The performance of every model is a straight line over the logarithm of its
effective MACs, so that ratios at equal performance are known.
"""

import json
import math

import numpy as np

GRID = """
models:
  duspar: {units: [8]}
  delta_gru: {units: [8], theta: [0.1]}
seeds: [0, 1]
settings: {epochs: 2, sizes: [70, 35, 35], batch_size: 14}
"""
# Model: MACs per second of its width squared, accuracy at a million of
# them, gain of every tenfold.
MODELS = {
    "duspar": ({}, 260, 0.90, 0.06),
    "spar": ({}, 130, 0.84, 0.06),
    "gru": ({}, 590, 0.86, 0.07),
    "mingru": ({}, 240, 0.80, 0.08),
    "delta_gru": ({"theta": 0.04}, 290, 0.89, 0.055),
    "dynamic_gru": ({"update_ratio": 0.5}, 400, 0.85, 0.07),
}
WIDTHS = (32, 48, 64, 96, 128, 192)
PARAMETERS = {128: 103700, 96: 105900, 192: 105400}


def write_grid(folder, text=GRID):
    path = folder / "grid.yaml"
    path.write_text(text)
    return path


def rows(
    task="kws",
    models=MODELS,
    seeds=(0, 1, 2),
    noise=0.003,
    widths=WIDTHS,
    draw=0,
):
    """The rows of a finished sweep.

    Args:
        task: `"kws"`, `"slu"` or `"se"`.
        models: Dictionary like `MODELS`.
        seeds: The seeds.
        noise: Standard deviation of the accuracy over seeds.
        widths: The widths of all models.
        draw: Seed of the noise.
    """
    rng = np.random.default_rng(draw)
    found = []
    for seed in seeds:
        for model, (options, factor, level, gain) in models.items():
            for units in widths:
                macs = factor * units**2
                accuracy = level + gain * math.log10(macs / 1e6)
                accuracy += noise * rng.normal()
                found.append(
                    row(task, model, options, units, seed, macs, accuracy)
                )
    return found


def row(task, model, options, units, seed, macs, accuracy):
    scores = {"test/accuracy": accuracy}
    if task == "se":
        scores = {
            "test/pesq_wb/enhanced": 1 + 2 * accuracy,
            "test/stoi/enhanced": accuracy,
            "test/si_sdr/enhanced": 20 * accuracy,
        }
    return {
        "trial": f"{model}-{units}-seed{seed}",
        "status": "finished",
        "task": task,
        "model": model,
        "units": units,
        "options": json.dumps(options),
        "seed": seed,
        "data": "folder",
        "data_name": "made-up data",
        "run": f"runs/{model}-{units}-seed{seed}",
        **scores,
        "parameters": PARAMETERS.get(units, units**2 * 9),
        "dense_macs": 2 * macs,
        "effective_macs": macs,
        "occupancy": 0.5,
        "ms_per_frame": 0.02 + macs / 5e8,
        "seconds": 100.0,
    }
