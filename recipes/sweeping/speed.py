"""Deployed models of runs, and how fast they are."""

import numpy as np

from keras_duspar import tflite
from keras_duspar.utils.audio_files import SAMPLE_RATE
from trainer.run_folder import RunFolder

DEPLOYED = "model.tflite"
FILE = "speed.json"
# Of test recordings, one after the other, that models are timed on.
AUDIO_SECONDS = 10


def deploy(folder):
    """Converts the model of a run for streams.

    Args:
        folder: The `RunFolder`.
    """
    config = folder.read_json("config.json")
    with folder.replacing(DEPLOYED) as file:
        tflite.convert(
            str(folder / "model.keras"),
            file,
            streaming=True,
            labels=config["labels"] or None,
            task=config["task"],
        )


def recordings(task):
    """The samples that the models of a `trainer.Task` are timed on."""
    audio = np.concatenate(list(next(task.unpadded("test"))))
    return audio[: AUDIO_SECONDS * SAMPLE_RATE]


def measure(paths, audio, seconds, rounds=3):
    """Measures deployed models one after the other, on an idle machine.

    The files take turns, each for a while, so that a machine that slows down
    slows down all of them; the median of the turns counts.

    Args:
        paths: List of `pathlib.Path`, run folders.
        audio: Array of samples to run on.
        seconds: Float, how long each file runs.
        rounds: Integer, in how many turns. Default: 3.
    """
    found = {path: [] for path in paths}
    for _ in range(rounds):
        for path, turns in found.items():
            (turn,) = tflite.measure([path / DEPLOYED], audio, seconds / rounds)
            turns.append(turn)
    for path, turns in found.items():
        turns.sort(key=lambda turn: turn.median)
        turn = turns[len(turns) // 2]
        RunFolder(path).write_json(
            FILE,
            {
                "ms_per_frame": 1e3 * turn.median,
                "ms_per_frame_p99": 1e3 * turn.p99,
                "real_time_factor": turn.real_time_factor,
                "file_bytes": turn.runner.file.size,
            },
        )
