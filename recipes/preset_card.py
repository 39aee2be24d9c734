"""What the card of a preset says: tests of its files, sizes and times."""

import datetime
import os
import pathlib
import platform
import shlex
import tempfile

import keras
import numpy as np

import yaml_tables
from datasets import commands12
from keras_duspar import metrics
from keras_duspar import native
from keras_duspar import tflite
from keras_duspar.models import preset_files
from tasks import TASKS
from trainer.run_folder import RunFolder

# What no run tells: licenses and limits.
TABLES = yaml_tables.beside(__file__)
# Utterances of synthetic speech.
SYNTHETIC_SIZES = {"kws": 140, "se": 6}


class File:
    """A `.tflite` file that recipes test as they test a Keras model."""

    def __init__(self, path):
        self.runner = tflite.load(path)

    def predict_on_batch(self, audio):
        return self.runner(np.asarray(audio, "float32"))


def enhanced(file, pairs):
    """PESQ-WB, STOI and SI-SDR of what a file makes of noisy recordings.

    Args:
        file: A `File`, or `None` for the recordings as they are.
        pairs: Pairs of a noisy and a clean recording.
    """
    found = metrics.evaluate_enhancement(
        [
            (clean, noisy if file is None else file.predict_on_batch(noisy))
            for noisy, clean in pairs
        ],
        workers=1,
    )
    return {name: found[name] for name in TASKS["se"].metrics}


def describe(task, run, folder, name, compared, weights):
    """The card of a preset whose files are there."""
    config, result = task.config, run.read_json("result.json")
    environment = run.read_json("environment.json")
    file = File(folder / preset_files.WHOLE)
    with tempfile.TemporaryDirectory() as scratch:
        tested = task.test(file, RunFolder(scratch))
    file.runner.reset_counters()
    for audio in task.unpadded("test"):
        file.predict_on_batch(audio)
    profile = file.runner.profile()
    return {
        "name": name,
        "task": config.task,
        **TABLES["presets"][name],
        "labels": file.runner.labels,
        "sample_rate": file.runner.sample_rate,
        "hop": file.runner.hop,
        "data": credit(config),
        "trained": {
            "command": training_command(environment["command"]),
            "seed": config.seed,
            "epochs": result["epochs"],
            "best_epoch": result["best_epoch"],
            "date": environment["started"][:10],
            "revision": environment["git_revision"],
            "keras": environment["keras"],
            "backend": run.read_json("config.json")["backend"],
            "sizes": config.sizes,
            "data_seed": config.data_seed,
        },
        "metrics": {
            "test": without(tested, "failed"),
            "keras": without(result["test"], "failed"),
            "validation": result["validation"],
            "further": synthetic_metrics(file),
        },
        "weights": weights,
        "compared": compared,
        "parameters": result["parameters"],
        "dense_macs": profile.dense_macs,
        "effective_macs": profile.effective_macs,
        "occupancy": profile.occupancy,
        "us_per_frame": compared[weights]["us_per_frame"],
        "timed": timed(),
        "sample": sample_outputs(folder),
    }


def credit(config):
    """Whose data a run was trained on, and its license."""
    folders = config.data or "synthetic", getattr(config, "other_speech", None)
    sets = [TABLES["data"][pathlib.PurePath(x).name] for x in folders if x]
    return {
        name: "; ".join(dict.fromkeys(one[name] for one in sets))
        for name in sets[0]
    }


def without(dictionary, *names):
    """A dictionary without some of its entries."""
    return {n: v for n, v in dictionary.items() if n not in names}


def training_command(arguments):
    """A recipe's command line without what is of one machine alone."""
    kept, skip = [], False
    for before, word in zip([None, *arguments], arguments):
        if word in ("--cache", "--out", "--resume"):
            skip = True
        elif word.startswith("--"):
            skip = False
            kept.append(word)
        elif not skip:
            is_path = before in ("--data", "--start", "--other-speech")
            kept.append(pathlib.PurePath(word).name if is_path else word)
    return shlex.join(["python", *kept])


def timed():
    """How, where and when times were measured."""
    info = pathlib.Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [x.partition(": ")[2] for x in lines if x.startswith("model name")]
    machine = f"{os.cpu_count()}-core {platform.machine()}"
    return (
        "median of a streaming step in LiteRT from input to output, one "
        f"thread, {', '.join([machine, *names[:1]])} with "
        f"{native.kernels()[0]}, load average {os.getloadavg()[0]:.1f}, "
        f"{datetime.date.today().isoformat()}"
    )


def open_data(runner, data=None, **settings):
    """The `Task` of a preset's file, on any data.

    Args:
        runner: The file's `Runner`.
        data: Folder of the data, or `None` for synthetic speech.
        **settings: Further settings of the recipe.
    """
    task_class = TASKS[runner.task].recipe_class()
    if runner.task == "kws":
        twelve = commands12.UNKNOWN in runner.labels
        settings["words"] = "commands12" if twelve else "all"
    return task_class(
        task_class.config_class(data=data, **settings), progress=False
    )


def synthetic_metrics(file):
    """Metrics on a little synthetic speech, which anybody can make.

    Returns:
        A dictionary with a title and the metrics; none for intents, which
        are others there.
    """
    runner = file.runner
    if runner.task == "slu":
        return {}
    # Of every word at least one in each split.
    sizes = [35, 35, SYNTHETIC_SIZES[runner.task]]
    task = open_data(runner, sizes=sizes)
    if runner.task == "kws":
        logits, labels = task.predict(file, "test")
        right = [
            runner.labels[scores.argmax()] == task.data.labels[label]
            for scores, label in zip(logits, labels)
            if task.data.labels[label] in runner.labels
        ]
        scores = {"accuracy": float(np.mean(right)), "count": len(right)}
    else:
        pairs = task.utterances("test")
        noisy = enhanced(None, pairs)
        scores = {
            metric: {"noisy": noisy[metric], "enhanced": value}
            for metric, value in enhanced(file, pairs).items()
        }
        scores["count"] = len(pairs)
    return {"synthetic speech": scores}


def sample_audio():
    """A second and a half of a voice that glides from vowel to vowel.

    Made by a formula, so that it is the same everywhere.
    """
    time = np.arange(24000) / 16000
    phase = 2 * np.pi * (110 * time + 20 * np.sin(3 * time))
    formants = (400 + 300 * np.sin(4 * time), 1500 + 700 * np.cos(3 * time))
    audio = np.zeros_like(time)
    for harmonic in range(1, 25):
        weight = sum(
            np.exp(-(((110 * harmonic - formant) / 150) ** 2))
            for formant in formants
        )
        audio += weight * np.sin(harmonic * phase)
    return (0.05 * audio * np.sin(2 * np.pi * time) ** 2).astype("float32")


def sample_outputs(folder):
    """What the models of a preset make of `sample_audio()`, in some numbers.

    Returns:
        A dictionary from file to a list of floats.
    """
    audio = sample_audio()[np.newaxis]
    model = keras.models.load_model(folder / preset_files.KERAS, compile=False)
    outputs = {preset_files.KERAS: model.predict(audio, verbose=0)}
    for name in (preset_files.WHOLE, preset_files.STREAMING):
        outputs[name] = tflite.load(folder / name)(audio)
    return {name: some_values(y) for name, y in outputs.items()}


def some_values(output):
    """At most 32 values of an output, from its start to its end."""
    values = np.ravel(
        next(iter(output.values()), None)
        if isinstance(output, dict)
        else output
    )
    chosen = np.linspace(0, len(values) - 1, min(32, len(values)))
    return [round(float(values[int(i)]), 6) for i in chosen]
