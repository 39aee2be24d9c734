"""How a trained model copes with quiet, loud and noisy recordings.

    python recipes/robustness.py runs/NAME
    python recipes/robustness.py runs/NAME --noise FOLDER

The test recordings of a run of kws.py or slu.py are played at other levels,
clipped at full scale, and with noise that training has not heard: two of the
background noises of Speech Commands, or the recordings in FOLDER. The
accuracies are printed and written to `robustness.json` and `robustness.txt`
in the folder of the run.
"""

import argparse
import sys

import prepare  # noqa: F401 - before Keras is imported

# isort: split
import keras
import numpy as np

from datasets import base
from datasets import speech_commands
from datasets.base import DataError
from datasets.mixing import mix
from datasets.mixing import read_noises
from keras_duspar.utils.tables import text_table
from trainer.command import open_run
from trainer.errors import TrainingError
from trainer.run_folder import RunFolder

LEVELS_DB = (-20.0, -10.0, 0.0, 10.0)
SNRS_DB = (0.0, 5.0, 10.0, 15.0, 20.0)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", help="folder of a finished run")
    parser.add_argument("--noise", help="folder of noise, at any depth")
    options = parser.parse_args(arguments)
    try:
        task = open_run(options.run, ("kws", "slu"))
        noises = find_noises(options.noise, task.config.data)
        folder = RunFolder(options.run)
        model = keras.models.load_model(folder / "model.keras")
        result = measure(task, model, noises)
        text = table(result)
        folder.write_json("robustness.json", result)
        folder.write_text("robustness.txt", text)
    except (TrainingError, DataError, ValueError) as error:
        print(f"robustness.py: {error}", file=sys.stderr)
        return 1
    print(text, end="")
    return 0


def find_noises(folder, data):
    """Noises that training has not heard, name to samples.

    Args:
        folder: Path of a folder of noise, or `None` for those that are held
            out of Speech Commands.
        data: Path of the folder of the run's data, or `None`.
    """
    if folder is not None:
        folder = base.existing_folder(folder, "noise", "Check the path.")
        paths = base.audio_files(folder)
    else:
        paths = speech_commands.held_out_paths(data) if data else ()
    if not paths:
        raise DataError(
            "`--noise` must be a folder of .wav, .flac or .ogg files. "
            f"Received: {folder}. Only Speech Commands comes with noise that "
            "training does not hear."
        )
    return read_noises(paths)


def measure(task, model, noises):
    """Accuracies on the test split.

    Args:
        task: A `Task` that tells classes apart.
        model: Its model.
        noises: Dictionary from names to samples.

    Returns:
        A dictionary, for `robustness.json`.
    """

    def accuracy(change):
        return task.accuracy(model, "test", change)

    # A dictionary, so that the level as recorded is measured once.
    levels = {level: accuracy(at_level(level)) for level in {0.0, *LEVELS_DB}}
    return {
        "task": task.config.task,
        "data": task.data.name,
        "count": len(task.data["test"]),
        "accuracy": levels[0.0],
        "levels": [
            {"level_db": level, "accuracy": levels[level]}
            for level in LEVELS_DB
        ],
        "noises": list(noises),
        "snrs": [
            {
                "snr_db": snr,
                "accuracy": accuracy(with_noise(noises.values(), snr)),
            }
            for snr in SNRS_DB
        ],
    }


def at_level(gain_db):
    """A function that makes a batch louder, up to full scale."""
    gain = np.float32(10 ** (gain_db / 20))
    return lambda audio: np.clip(gain * audio, -1, 1)


def with_noise(noises, snr_db):
    """A function that adds noise to one batch after the other.

    Each recording gets one of the noises, from anywhere in it. These choices
    are the same at all ratios.

    Args:
        noises: Sequence of arrays.
        snr_db: Float, the ratio of the powers over the whole recording.
    """
    noises = list(noises)
    rng = np.random.default_rng(0)

    def change(audio):
        noisy = np.empty_like(audio)
        for row, clean in enumerate(audio):
            noise = noises[rng.integers(len(noises))]
            offset = int(rng.integers(len(noise)))
            noisy[row] = mix(clean, noise, snr_db, offset)[0]
        return noisy

    return change


def table(result):
    """The accuracies as text."""
    whole = result["accuracy"]
    rows = [("as recorded", f"{100 * whole:.2f}", "")]
    for kind, key, text in (
        ("levels", "level_db", "level {:+g} dB"),
        ("snrs", "snr_db", "noise at {:g} dB SNR"),
    ):
        for row in result[kind]:
            accuracy = row["accuracy"]
            rows.append(
                (
                    text.format(row[key]),
                    f"{100 * accuracy:.2f}",
                    f"{100 * (accuracy - whole):+.2f}",
                )
            )
    columns = ("condition", "accuracy %", "difference")
    return (
        f"{text_table(columns, rows, left=columns[:1])}\n\n"
        f"{result['count']} test recordings of {result['data']}; noise: "
        f"{', '.join(result['noises'])}.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
