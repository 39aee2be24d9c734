"""The paper's three models: parameters, MACs and occupancy.

    python recipes/paper_table.py

Every model is built and run on a second of noise, and its MACs are
counted. The models are not trained: the occupancy of DuSpaR and of Delta-GRU
depends on training and data, and is shown as the paper's only.
"""

import argparse
import logging

import prepare  # noqa: F401 - before Keras is imported

# isort: split
import keras
import numpy as np

import keras_duspar
import paper
from keras_duspar.profiling import text_table
from keras_duspar.utils.audio_files import SAMPLE_RATE
from tasks import TASKS

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


def row(printed):
    """One row of the table, counted now and as printed in the paper."""
    task = TASKS[printed.task]
    noise = np.random.default_rng(0).normal(0, 0.1, (1, SAMPLE_RATE))
    profile = keras_duspar.profile(
        task.build(printed.layer, printed.units),
        noise.astype("float32"),
        task.frames_per_second,
    )
    occupancy = f"{100 * profile.occupancy:.2f} %"
    if depends_on_training(profile):
        occupancy = "by training"
    return (
        printed.task.upper(),
        printed.layer,
        str(printed.units),
        f"{profile.params:,}",
        f"{profile.dense_macs / 1e6:.3f} M",
        occupancy,
        f"{printed.parameters / 1e3:.1f} K",
        f"{printed.dense_macs / 1e6:.2f} M",
        f"{printed.effective_macs / 1e6:.2f} M",
        f"{100 * printed.occupancy:.1f} %",
    )


def main():
    parser = argparse.ArgumentParser(
        description="Prints parameters and MACs of the paper's models."
    )
    parser.parse_args()
    # Twelve models are compiled one after the other, which TensorFlow takes
    # for one that is compiled again and again.
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    progress = keras.utils.Progbar(len(paper.ROWS), unit_name="model")
    rows = []
    for printed in paper.ROWS:
        rows.append(row(printed))
        progress.add(1)
    print(text_table(COLUMNS, rows, left=("task", "layer")))
    print(
        "\nColumns from 'paper:' on are as printed there. Its SLU figures are "
        "averages over\nutterances; ours are at the nominal 62.5 frames "
        "per second."
    )


if __name__ == "__main__":
    main()
