"""Quantization in a run: when it begins, and what it costs in the end."""

import math
import shutil
import tempfile

import keras

import keras_duspar
from keras_duspar import quantization
from keras_duspar import tflite
from keras_duspar.rounding import scheme
from trainer import distributed
from trainer.errors import TrainingError
from trainer.run_folder import RunFolder

FLOAT_MODEL = "float.keras"  # the best one before quantization
BATCHES = 8  # of training data, for ranges after training
RATE = 0.1  # of the learning rate, once weights are rounded


def first_epoch(config):
    """The first epoch that trains with rounding; none is infinity."""
    if config.quantize is None:
        return math.inf
    if config.quantize_from is not None:
        return config.quantize_from
    return 0 if config.start else round(0.8 * config.epochs)


def first_frozen_epoch(config):
    """The first epoch in which ranges stand still; none is infinity."""
    first = first_epoch(config)
    if first is math.inf:
        return math.inf
    return first + math.ceil((config.epochs - first) / 2)


def check(config):
    """Raises if the settings of quantization do not fit together."""
    if config.quantize_from is not None and config.quantize is None:
        raise TrainingError(
            "`quantize-from` must come with `quantize`. Received: "
            f"quantize_from={config.quantize_from}."
        )
    if config.quantize is not None:
        scheme.get(config.quantize)
        if not 0 <= first_epoch(config) < config.epochs:
            raise TrainingError(
                "`quantize-from` must be from 0 to `epochs` - 1. Received: "
                f"quantize_from={config.quantize_from}, "
                f"epochs={config.epochs}."
            )


def check_job(config, job):
    """Raises if several processes are to train a quantized model."""
    if config.quantize is not None and isinstance(job, distributed.Job):
        raise TrainingError(
            "`quantize` must be left out with `--distributed`. Start from the "
            "run in one process: `--quantize int8 --start RUN`."
        )


def begin(task, folder, model, trained):
    """The model that goes on in a quantized form.

    Args:
        task: A `Task`.
        folder: The `RunFolder`, in which the best float model is kept.
        model: The model as it is now.
        trained: Boolean, whether it was trained, here or before.

    Returns:
        The quantized model.
    """
    kept = folder / FLOAT_MODEL
    # If it is there, the run was stopped just after it began to round.
    if trained and not kept.exists():
        best = folder / "model.keras"
        with folder.replacing(FLOAT_MODEL) as path:
            if best.exists():
                shutil.copyfile(best, path)
            else:
                model.save(path)
    if trained:
        model = keras.models.load_model(kept, compile=False)
    return keras_duspar.quantize(model, task.config.quantize)


def evaluate(task, folder, model):
    """Float, rounded and trained models side by side, in Keras and as files.

    Args:
        task: A `Task`.
        folder: The `RunFolder`.
        model: The best quantized model of the run.

    Returns:
        A list of dictionaries: `name`, `test` and `occupancy` in Keras,
        `tflite_test` and `tflite_occupancy` of the file in the interpreter,
        and the file's `bytes`.
    """
    found = {}
    if (folder / FLOAT_MODEL).exists():
        plain = keras.models.load_model(folder / FLOAT_MODEL, compile=False)
        found["float32"] = plain
        for kind in dict.fromkeys(("bfloat16", task.config.quantize)):
            rounded = keras_duspar.quantize(plain, kind)
            quantization.calibrate(
                rounded, list(task.unpadded("train", BATCHES))
            )
            found[f"{kind}, after training"] = rounded
    found[f"{task.config.quantize}, trained"] = model
    return [_row(task, name, model) for name, model in found.items()]


def _row(task, name, model):
    """What is to be known of one model."""
    with tempfile.TemporaryDirectory() as path:
        scratch = RunFolder(path)  # the run has its own examples already
        file = tflite.convert(model, scratch / "model.tflite")
        row = {
            "name": name,
            "test": task.test(model, scratch),
            "occupancy": keras_duspar.profile(
                model, task.unpadded("test")
            ).occupancy,
            "bytes": file.stat().st_size,
        }
        try:
            runner = tflite.load(file)
        except (ImportError, FileNotFoundError) as error:
            # Without a runtime or the library there is only Keras' word.
            return {**row, "problem": str(error)}
        row["tflite_test"] = task.test(_InInterpreter(runner), scratch)
        runner.reset_counters()
        for audio in task.unpadded("test"):
            runner(audio)
        return {**row, "tflite_occupancy": runner.profile().occupancy}


class _InInterpreter:
    """A file that looks like a model to `Task.test()`."""

    def __init__(self, runner):
        self._runner = runner

    def predict_on_batch(self, audio):
        return self._runner(audio)
