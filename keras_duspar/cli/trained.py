"""Models that commands run: where they lie and what they are for."""

import itertools
import json
import os
import pathlib
import zipfile

import numpy as np

from keras_duspar.cli.chatter import start_keras
from keras_duspar.cli.chatter import without_chatter
from keras_duspar.cli.main import CommandError
from keras_duspar.cli.main import explaining
from keras_duspar.models import preset_files
from keras_duspar.utils import archives
from keras_duspar.utils import checks
from keras_duspar.utils.audio_files import SAMPLE_RATE

TASKS = {
    "kws": ("keyword_spotter", "spots words", "spot"),
    "slu": ("intent_recognizer", "recognizes intents", "understand"),
    "se": ("speech_enhancer", "enhances speech", "enhance"),
}
# What is run if no model is given.
DEFAULTS = {
    "kws": "kws_duspar_128_commands12",
    "slu": "slu_duspar_128_commands31",
    "se": "se_duspar_116_everyday",
}


def add_arguments(parser, task):
    """Adds the arguments that say which model is to be run."""
    parser.add_argument(
        "--model",
        default=DEFAULTS[task],
        metavar="MODEL",
        help="a preset or a .tflite file, which run without Keras and its "
        "backends, or a .keras file or the folder of a training run "
        f"(default: the preset {DEFAULTS[task]})",
    )
    if task != "se":
        parser.add_argument(
            "--labels",
            metavar="FILE",
            help="names of the classes, one per line or as a JSON list "
            "(default: those of the run or model, or labels.json beside it)",
        )


def load(path, task, labels=None):
    """Loads a model with the names of its classes.

    Args:
        path: Name of a preset, folder of a run, with `model.keras` and
            `config.json`, a `.keras` file or a `.tflite` file.
        task: String, `"kws"`, `"slu"` or `"se"`: what it must be for.
        labels: File with the names of the classes, or `None`.

    Returns:
        A `KerasModel` or `TFLiteModel`. `run(blocks)` yields the outputs of a
        recording that comes in blocks of shape `(channels, samples)`, and the
        attributes are `sample_rate`, `labels`, `hop`, the least samples that
        give an output, and `group`, the samples for each time step of the
        output.
    """
    # A word is short, and its scores are a mean over all of it.
    file = find_file(path, task != "kws", "--model")
    if pathlib.Path(file).suffix == ".tflite":
        return TFLiteModel(file, task, labels, path)
    return KerasModel(path, task, labels)


def find_file(path, streaming=True, argument="FILE"):
    """The file that a name stands for.

    Args:
        path: Name of a preset, or any other path, which is returned as it is.
        streaming: Boolean, which file of a preset. Default: `True`.
        argument: String, what the path was given as. Default: `"FILE"`.
    """
    if preset_files.names_preset(path):
        with explaining():
            folder = preset_files.preset_folder(path, argument, or_file=True)
        name = preset_files.STREAMING if streaming else preset_files.WHOLE
        return str(folder / name)
    if pathlib.Path(path).suffix == ".tflite" and not os.path.exists(path):
        raise CommandError(f"{path} does not exist.")
    return path


def load_stream(path, task, argument="--model"):
    """The runner of a file that takes sound as it comes.

    Args:
        path: Name of a preset, or a streaming `.tflite` file.
        task: String, `"kws"` or `"se"`: what it must be for.
        argument: String, what the path was given as. Default: `"--model"`.
    """
    from keras_duspar import tflite  # noqa: PLC0415

    file = find_file(path, argument=argument)
    if pathlib.Path(file).suffix != ".tflite":
        raise CommandError(
            f"`{argument}` must be the name of a preset or a streaming "
            f".tflite file, which `keras-duspar convert` makes. Received: "
            f"{path}."
        )
    try:
        with without_chatter():
            runner = tflite.load(file)
        check_task(path, runner.task, task)
        runner.push(np.zeros(0, "int16"))  # says if it does not stream
    except (ValueError, OSError) as e:
        raise CommandError(str(e)) from e
    return runner


class KerasModel:
    """A Keras model, run as a stream of chunks of about one second."""

    def __init__(self, path, task, labels=None):
        file, config = find_run(path)
        start_keras()
        from keras_duspar import models  # noqa: PLC0415
        from keras_duspar.streaming import Stream  # noqa: PLC0415

        try:
            model = archives.load_model(file)
        except Exception as e:  # of many kinds, for files that are no models
            reason = (str(e).strip() or type(e).__name__).splitlines()[0]
            raise CommandError(f"{file} cannot be loaded: {reason}") from e
        about = {
            "task": getattr(model, "task", None) or model.name,
            "labels": getattr(model, "labels", None),
            **config,
        }
        check_task(file, about["task"], task)
        self.hop = Stream(model).hop
        # A multiple of 64 brings whole groups to the pooling layers.
        frames = 64 * max(1, round(SAMPLE_RATE / self.hop / 64))
        self._stream = Stream(model, frames)
        self.sample_rate = self._stream.sample_rate or SAMPLE_RATE
        self.group = models.group_samples(model) if task == "slu" else None
        classes = model.output_shape[-1]
        self.labels = find_labels(file, about["labels"], labels, task, classes)

    def run(self, blocks):
        self._stream.reset()
        for block in blocks:
            yield self._stream.push(block)
        yield self._stream.finish()


class TFLiteModel:
    """A `.tflite` file, of streams or of whole recordings."""

    def __init__(self, path, task, labels, name):
        from keras_duspar import tflite  # noqa: PLC0415

        with explaining(), without_chatter():
            self._runners = [tflite.load(path)]
        (runner,) = self._runners
        check_task(name, runner.task, task)
        self.sample_rate, self.hop = runner.sample_rate, runner.hop
        self.group = None
        if task == "slu":
            rate = runner.description["layers"][-1]["steps_per_second"]
            self.group = round(self.sample_rate / rate)
        classes = next(iter(runner.outputs.values()))[-1]
        path = pathlib.Path(path)
        self.labels = find_labels(path, runner.labels, labels, task, classes)

    def run(self, blocks):
        if not self._runners[0].streaming:
            audio = np.concatenate(list(blocks), axis=1)
            if audio.shape[1] >= self.hop:
                yield self._runners[0](audio)
            return
        # A file keeps the states of one channel.
        blocks = iter(blocks)
        first = next(blocks)
        copies = itertools.tee(itertools.chain([first], blocks), len(first))
        with without_chatter():
            while len(self._runners) < len(first):
                runner = self._runners[0]
                self._runners.append(type(runner)(runner.path))
        streams = [
            runner.stream(_channel(copy, i))
            for i, (runner, copy) in enumerate(zip(self._runners, copies))
        ]
        for outputs in zip(*streams):
            yield None if outputs[0] is None else np.concatenate(outputs)


def _channel(blocks, i):
    for block in blocks:
        yield block[i : i + 1]


def find_run(path, argument="--model", kinds="a .keras or a .tflite file"):
    """The model and the settings of a training run.

    Args:
        path: Folder of a run, or a `.keras` file.
        argument: String, what the path was given as. Default: `"--model"`.
        kinds: String, which files the argument takes.

    Returns:
        The path of the `.keras` file, and the dictionary in `config.json`,
        which is empty if there is no such file.
    """
    path = pathlib.Path(path).expanduser()
    file = path / "model.keras" if path.is_dir() else path
    if not file.is_file():
        raise CommandError(f"{file} does not exist, so there is no model.")
    if file.suffix != ".keras":
        raise CommandError(
            f"`{argument}` must be the folder of a run, {kinds}. Received: "
            f"{file}."
        )
    if not zipfile.is_zipfile(file):
        raise CommandError(f"{file} is damaged or not a .keras file.")
    config = {}
    if path.is_dir() and (path / "config.json").is_file():
        config = _read_json(path / "config.json", dict)
    return file, config


def check_task(file, found, task):
    """Raises unless a model is for the task.

    Args:
        file: The model.
        found: String, its task, or its name if nothing else tells it.
        task: String, what it must be for.
    """
    for name, (model_name, what, command) in TASKS.items():
        if found == name or str(found).startswith(model_name):
            if name != task:
                raise CommandError(
                    f"{file} {what}: it is a model for `keras-duspar "
                    f"{command}`."
                )
            return
    names = ", ".join(name for name, _, _ in TASKS.values())
    raise CommandError(
        f"{file} does not say what it is for: its task or name is {found!r}, "
        f"not one of {', '.join(TASKS)}, {names}."
    )


def find_labels(file, known, given, task, classes):
    """The names of the classes, or their numbers; `None` if there are none.

    Args:
        file: The model.
        known: List of strings, the labels of the run or of the model, or
            `None`.
        given: File with labels that go before these, or `None`.
        task: String.
        classes: Integer, how wide the model's output is.
    """
    if task == "se":
        return None
    if task == "slu":
        classes -= 1  # the blank
    beside = file.parent / "labels.json"
    if given is not None:
        source, labels = given, read_labels(given)
    elif known:
        source, labels = file, known
    elif beside.is_file():
        source, labels = beside, _read_json(beside, list)
    else:
        return [str(i) for i in range(classes)]
    if len(labels) != classes:
        raise CommandError(
            f"{source} has {len(labels)} labels, but the model has {classes} "
            "classes."
        )
    try:
        return checks.labels("labels", labels, [classes])
    except ValueError as e:
        raise CommandError(f"{source}: {e}") from e


def read_labels(path):
    """The labels in a file, one per line or as a JSON list."""
    path = pathlib.Path(path)
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise CommandError(f"{path} cannot be read: {e}") from e
    if text.lstrip().startswith("["):
        return [str(label).strip() for label in _read_json(path, list)]
    return [line.strip() for line in text.splitlines() if line.strip()]


def _read_json(path, kind):
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as e:
        raise CommandError(f"{path} is not valid JSON: {e}") from e
    if not isinstance(value, kind):
        raise CommandError(f"{path} must hold a JSON {kind.__name__}.")
    return value
