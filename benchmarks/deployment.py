"""Do converted files decide as the Keras model does, and count the same?

    python benchmarks/deployment.py runs/kws-... runs/slu-... runs/se-...

The model of every run is converted four ways, for whole recordings and for
streams, with sparse and with built-in operators, and all are given the same
test recordings. Printed are changed decisions (keywords, intents) or the
largest difference of the waveforms (enhancement), the largest difference of
the scores, and occupancy beside that of `keras_duspar.profile()`.
"""

import argparse
import importlib
import itertools
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "recipes"))

import keras
import numpy as np

import keras_duspar
from keras_duspar import losses
from keras_duspar import tflite
from keras_duspar.profiling import text_table
from trainer import config as configs

TASKS = {
    "kws": "KeywordSpotting",
    "slu": "IntentRecognition",
    "se": "SpeechEnhancement",
}
# A multiple of the hop and of the intents' groups of 16 frames, and coarse
# enough for many recordings to have the same length.
GRID = {"kws": 256, "slu": 4096, "se": 4096}
COLUMNS = (
    "run",
    "file",
    "recordings",
    "changed",
    "largest difference",
    "occupancy",
    "of Keras",
    "KB",
)


def recordings(task_name, folder, count):
    """Test recordings of a run, cut to whole steps of a stream."""
    config = configs.read(folder / "config.json")
    config.pop("labels")
    recipe = importlib.import_module(task_name)
    task = getattr(recipe, TASKS[task_name])(
        configs.make(recipe.Config, config), progress=False
    )
    batches = task.batches("test")
    grid = GRID[task_name]
    for index, item in enumerate(task.data["test"][:count]):
        if task_name == "se":
            audio = batches.utterance(index)[0]
        else:
            audio = batches.samples(item.source)
        yield audio[: len(audio) // grid * grid]


def by_length(audio, most=32):
    """Batches of recordings of equal length, which need no padding."""
    groups = {}
    for samples in audio:
        if len(samples):
            groups.setdefault(len(samples), []).append(samples)
    return [
        np.stack(group[start : start + most])
        for group in groups.values()
        for start in range(0, len(group), most)
    ]


def decide(task_name, scores):
    """What an app would act on."""
    if task_name == "kws":
        return int(scores.argmax())
    return tuple(losses.ctc_decode(scores[np.newaxis])[0][0])


def rows(folder, count, scratch):
    """One row of the table for each way of conversion."""
    folder = pathlib.Path(folder)
    task_name = configs.read(folder / "config.json")["task"]
    model = keras.models.load_model(folder / "model.keras")
    batches = by_length(recordings(task_name, folder, count))
    audio = [samples for batch in batches for samples in batch]
    expected = [
        scores for batch in batches for scores in model.predict_on_batch(batch)
    ]
    profile = keras_duspar.profile(model, batches)
    for streaming, ops in itertools.product(
        (False, True), ("sparse", "builtin")
    ):
        path = pathlib.Path(scratch) / "model.tflite"
        tflite.convert(
            model,
            path,
            streaming=streaming,
            ops=ops,
            count=ops == "builtin",
        )
        runner = tflite.load(path)
        changed, difference = 0, 0.0
        for samples, scores in zip(audio, expected):
            found = np.asarray(runner(samples))
            difference = max(difference, float(abs(found - scores).max()))
            if task_name != "se":
                decisions = {
                    decide(task_name, found),
                    decide(task_name, scores),
                }
                changed += len(decisions) - 1
        yield (
            folder.name,
            f"{'stream' if streaming else 'whole'}, {ops}",
            str(len(audio)),
            "-" if task_name == "se" else str(changed),
            f"{difference:.1e}",
            f"{100 * runner.profile().occupancy:.3f} %",
            f"{100 * profile.occupancy:.3f} %",
            f"{path.stat().st_size / 1000:.0f}",
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", nargs="+", help="folders of finished runs")
    parser.add_argument(
        "--count", type=int, help="test recordings of each run (default: all)"
    )
    options = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        for folder in options.runs:
            for row in rows(folder, options.count, scratch):
                print("  ".join(row), flush=True)
                found.append(row)
    print(text_table(COLUMNS, found, left=COLUMNS[:2]))


if __name__ == "__main__":
    main()
