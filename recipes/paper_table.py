"""The paper's three models: parameters, products and occupancy.

    python recipes/paper_table.py

Every model is built and run on a second of noise, and its products are
counted. The models are not trained: the occupancy of DuSpaR and of Delta-GRU
depends on training and data, and is shown as the paper's only.
"""

import argparse
import logging
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np

import keras_duspar
from keras_duspar import models
from keras_duspar.profiling import text_table

# The enhancer's 16,000 samples a second make 1001 frames, both ends included.
TASKS = {
    "KWS": (models.keyword_spotter, 62.5),
    "SLU": (models.intent_recognizer, 62.5),
    "SE": (models.speech_enhancer, 1001),
}

# Task, layer, width, and the paper's parameters in thousands, dense and
# effective M MAC/s and occupancy in percent.
PAPER = (
    ("KWS", "gru", 96, 105.9, 6.55, 6.55, 100.0),
    ("KWS", "delta_gru", 96, 105.9, 6.55, 3.21, 49.0),
    ("KWS", "dynamic_gru", 96, 105.9, 6.55, 4.43, 67.7),
    ("KWS", "duspar", 128, 103.7, 6.42, 3.21, 50.0),
    ("SLU", "gru", 96, 105.6, 3.74, 3.74, 100.0),
    ("SLU", "delta_gru", 96, 105.6, 3.74, 2.02, 53.8),
    ("SLU", "dynamic_gru", 96, 105.6, 3.74, 2.50, 66.8),
    ("SLU", "duspar", 128, 103.3, 3.08, 1.18, 38.3),
    ("SE", "gru", 96, 239.5, 236.78, 236.78, 100.0),
    ("SE", "delta_gru", 96, 239.5, 236.78, 105.58, 44.6),
    ("SE", "dynamic_gru", 96, 239.5, 236.78, 162.98, 68.8),
    ("SE", "duspar", 116, 238.8, 236.41, 118.04, 49.9),
)

COLUMNS = (
    "task",
    "layer",
    "units",
    "params",
    "dense MAC/s",
    "occupancy",
    "paper: params",
    "dense",
    "effective",
    "occupancy",
)


def depends_on_training(profile):
    """Whether zeros of the data, not the structure, decide the cost."""
    return any(
        operand.sparse and operand.name != "selected"
        for layer in profile.layers
        for operand in layer.cost.operands
    )


def row(task, layer, units, *paper):
    """One row of the table, counted now and as printed in the paper."""
    build, steps_per_second = TASKS[task]
    noise = np.random.default_rng(0).normal(0, 0.1, (1, 16000))
    profile = keras_duspar.profile(
        build(layer, units), noise.astype("float32"), steps_per_second
    )
    occupancy = f"{100 * profile.occupancy:.2f} %"
    if depends_on_training(profile):
        occupancy = "by training"
    params, dense, effective, paper_occupancy = paper
    return (
        task,
        layer,
        str(units),
        f"{profile.params:,}",
        f"{profile.dense_macs / 1e6:.3f} M",
        occupancy,
        f"{params} K",
        f"{dense:.2f} M",
        f"{effective:.2f} M",
        f"{paper_occupancy:.1f} %",
    )


def main():
    parser = argparse.ArgumentParser(
        description="Prints parameters and products of the paper's models."
    )
    parser.parse_args()
    # Twelve models are compiled one after the other, which TensorFlow takes
    # for one that is compiled again and again.
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    progress = keras.utils.Progbar(len(PAPER), unit_name="model")
    rows = []
    for line in PAPER:
        rows.append(row(*line))
        progress.add(1)
    print(text_table(COLUMNS, rows, left=("task", "layer")))
    print(
        "\nColumns from 'paper:' on are as printed there. Its SLU figures are "
        "averages over\nutterances; ours are at the nominal 62.5 frames a "
        "second."
    )


if __name__ == "__main__":
    main()
