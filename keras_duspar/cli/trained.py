"""Models that commands run: where they lie and what they are for."""

import json
import pathlib
import zipfile

import keras

from keras_duspar.cli.main import CommandError
from keras_duspar.streaming import Stream
from keras_duspar.utils.audio_files import SAMPLE_RATE

TASKS = {
    "kws": ("keyword_spotter", "spots words", "spot"),
    "slu": ("intent_recognizer", "recognises intents", "understand"),
    "se": ("speech_enhancer", "enhances speech", "enhance"),
}


def add_arguments(parser, labels=True):
    """Adds the arguments that say which model is to be run."""
    parser.add_argument(
        "--model",
        required=True,
        metavar="RUN",
        help="folder of a training run, or a .keras file",
    )
    if labels:
        parser.add_argument(
            "--labels",
            metavar="FILE",
            help="names of the classes, one a line or as a JSON list; by "
            "default those of the run, or labels.json beside the model",
        )


class TrainedModel:
    """A model with the names of its classes, run as a stream.

    Args:
        path: Folder of a run, with `model.keras` and `config.json`, or a
            `.keras` file.
        task: String, `"kws"`, `"slu"` or `"se"`: what it must be for.
        labels: File with the names of the classes, or `None`.

    Attributes:
        stream: A `keras_duspar.streaming.Stream` over about one second.
        sample_rate: Integer, samples a second of the model's input.
        labels: List of strings, the names of the classes.
    """

    def __init__(self, path, task, labels=None):
        file, config = find_run(path)
        try:
            model = keras.saving.load_model(file, compile=False)
        except Exception as e:  # of many kinds, for files that are no models
            reason = (str(e).strip() or type(e).__name__).splitlines()[0]
            raise CommandError(f"{file} cannot be loaded: {reason}") from e
        check_task(file, model, config, task)
        hop = Stream(model).hop
        # A multiple of 64 brings whole groups to the pooling layers.
        frames = 64 * max(1, round(SAMPLE_RATE / hop / 64))
        self.stream = Stream(model, frames)
        self.sample_rate = self.stream.sample_rate or SAMPLE_RATE
        self.labels = None
        if task != "se":
            classes = model.output_shape[-1] - (task == "slu")  # the blank
            self.labels = find_labels(file, config, labels, classes)


def find_run(path, argument="--model"):
    """The model and the settings of a training run.

    Args:
        path: Folder of a run, or a `.keras` file.
        argument: String, what the path was given as. Default: `"--model"`.

    Returns:
        The path of the `.keras` file, and the dictionary in `config.json`,
        which is empty if there is no such file.
    """
    path = pathlib.Path(path).expanduser()
    file = path / "model.keras" if path.is_dir() else path
    if not file.is_file():
        raise CommandError(f"{file} does not exist: there is no model.")
    if file.suffix != ".keras":
        raise CommandError(
            f"`{argument}` must be the folder of a run or a .keras file. "
            f"Received: {file}."
        )
    if not zipfile.is_zipfile(file):
        raise CommandError(f"{file} is damaged or no .keras file.")
    config = {}
    if path.is_dir() and (path / "config.json").is_file():
        config = _read_json(path / "config.json", dict)
    return file, config


def check_task(file, model, config, task):
    """Raises unless a model is for the task."""
    found = config.get("task")
    for name, (model_name, _, _) in TASKS.items():
        if found is None and model.name.startswith(model_name):
            found = name
    if found not in TASKS:
        names = ", ".join(name for name, _, _ in TASKS.values())
        raise CommandError(
            f"{file} does not tell what it is for: its name is "
            f"{model.name!r}, not one of {names}, and there is no config.json "
            'with a "task".'
        )
    if found != task:
        _, what, command = TASKS[found]
        raise CommandError(
            f"{file} {what}: it is a model for `keras-duspar {command}`."
        )


def find_labels(file, config, given, classes):
    """The names of the classes, or their numbers."""
    beside = file.parent / "labels.json"
    if given is not None:
        given = pathlib.Path(given)
        try:
            text = given.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as e:
            raise CommandError(f"{given} cannot be read: {e}") from e
        source, labels = given, text.split("\n")
        if text.lstrip().startswith("["):
            labels = _read_json(given, list)
        labels = [label.strip() for label in map(str, labels) if str(label)]
    elif "labels" in config:
        source, labels = file.parent / "config.json", config["labels"]
    elif beside.is_file():
        source, labels = beside, _read_json(beside, list)
    else:
        return [str(i) for i in range(classes)]
    if not isinstance(labels, list) or len(labels) != classes:
        count = len(labels) if isinstance(labels, list) else "no"
        raise CommandError(
            f"{source} has {count} labels, and {file} {classes} classes."
        )
    return [str(label) for label in labels]


def _read_json(path, kind):
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as e:
        raise CommandError(f"{path} is not valid JSON: {e}") from e
    if not isinstance(value, kind):
        raise CommandError(f"{path} must hold a JSON {kind.__name__}.")
    return value
