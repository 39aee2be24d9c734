"""Makes a preset of the package out of a finished run.

    python recipes/make_preset.py runs/kws-duspar-128 kws_duspar_128_words30
    python recipes/make_preset.py --page

The run's model is converted with float32, bfloat16 and int8 weights, each for
whole recordings and for streams. On validation data the fastest that is no
worse than float32 is chosen, and tested on the test data. The folder
`keras_duspar/presets/NAME` gets `model.keras`, `model.tflite`,
`streaming.tflite` and `card.json`, which says all that was found. `--page`
writes `docs/presets.md` out of the cards.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shlex
import sys
import tempfile
import zipfile

import prepare  # noqa: F401 - before Keras is imported

# isort: split
import keras
import numpy as np

import yaml_tables
from datasets import commands12
from datasets.base import DataError
from keras_duspar import metrics
from keras_duspar import native
from keras_duspar import quantization
from keras_duspar import tflite
from keras_duspar.models import preset_files
from keras_duspar.models import preset_texts
from keras_duspar.utils import files
from tasks import TASKS
from trainer.command import open_run
from trainer.errors import TrainingError
from trainer.run_folder import RunFolder

TABLES = yaml_tables.beside(__file__)
PAGE = pathlib.Path(__file__).parent.parent / "docs" / "presets.md"
WEIGHTS = ("float32", "bfloat16", "int8")
# What a metric may lose on validation data and still be no worse.
TOLERANCES = {"accuracy": 1e-3, "pesq_wb": 0.01, "stoi": 1e-3, "si_sdr": 0.05}
LARGEST = 1_000_000  # bytes of a file
# Enhanced utterances whose metrics are compared: PESQ takes time.
COMPARED = 64
# Utterances of synthetic speech.
SYNTHETIC_SIZES = {"kws": 140, "se": 6}
PAGE_HEAD = """# Pretrained models

They lie in the package: no download, no training. Written by `python
recipes/make_preset.py --page` out of the cards in `keras_duspar/presets`.

```python
from keras_duspar import models, tflite

for name, description in models.presets().items():
    print(name, description)
    model = models.from_preset(name)  # a Keras model, on any backend
    runner = tflite.load(name)  # the same in LiteRT, without Keras
    stream = tflite.load(name, streaming=True)  # takes chunks
    print(model.task, model.labels, runner.sample_rate, stream.samples)
```

On recordings, from the command line: `keras-duspar spot word.wav`,
`understand command.wav`, `enhance noisy.wav clean.wav`; `keras-duspar presets`
lists the models, and `--model NAME` takes another one:
[commands.md](commands.md).

| preset | what it is | test | us per frame | occupancy |
|---|---|---|---|---|
{rows}

"Test" is the `.tflite` file that ships, on the whole test set; the same file
on a little synthetic speech and a fixed sound are in `card.json`, and a test
reproduces both. `make test-presets` reproduces the whole test where
`KERAS_DUSPAR_SPEECH_COMMANDS` and `KERAS_DUSPAR_VOICEBANK` name the folders
of the data. A preset is made by `python recipes/make_preset.py RUN NAME`.
"""


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", nargs="?", help="folder of a finished run")
    parser.add_argument("name", nargs="?", help="the preset's name")
    parser.add_argument(
        "--weights",
        choices=WEIGHTS,
        help="what kernels are rounded to (default: the fastest that is no "
        "worse)",
    )
    parser.add_argument(
        "--keras-weights",
        choices=("float32", "bfloat16"),
        default="float32",
        help="what the kernels of model.keras are rounded to: bfloat16 halves "
        "the file (default: float32)",
    )
    parser.add_argument("--data", help="the data, if it is elsewhere now")
    parser.add_argument("--cache", help="folder of decoded speech")
    parser.add_argument(
        "--out",
        default=preset_files.FOLDER,
        help="where the preset's folder is made (default: in the package)",
    )
    parser.add_argument(
        "--page", action="store_true", help="write docs/presets.md anew"
    )
    options = parser.parse_args(arguments)
    try:
        if options.run is not None:
            make(options)
        if options.page:
            files.write(PAGE, page())
    except (TrainingError, DataError, ValueError) as error:
        print(f"make_preset.py: {error}", file=sys.stderr)
        return 1
    return 0


def make(options):
    """Makes the files of a preset."""
    if options.name not in TABLES["presets"]:
        raise TrainingError(
            f"`name` must be one of {', '.join(TABLES['presets'])}, of which "
            f"make_preset.yaml knows the limits. Received: {options.name}."
        )
    changed = {
        name: getattr(options, name)
        for name in ("data", "cache")
        if getattr(options, name) is not None
    }
    task = open_run(options.run, **changed, backend=keras.config.backend())
    run = RunFolder(options.run)
    model = read_model(run)
    folder = pathlib.Path(options.out) / options.name
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        kinds = (options.weights,) if options.weights else WEIGHTS
        compared = compare(task, model, kinds, scratch)
        weights = options.weights or choose(compared)
        print(f"{options.name}: {weights}")
        folder.mkdir(parents=True, exist_ok=True)
        for name in (preset_files.WHOLE, preset_files.STREAMING):
            content = (scratch / weights / name).read_bytes()
            files.write(folder / name, content)
        rounded(model, options.keras_weights).save(scratch / preset_files.KERAS)
        files.write(
            folder / preset_files.KERAS,
            compressed(scratch / preset_files.KERAS),
        )
        sizes = file_sizes(folder)
        card = describe(task, run, folder, options.name, compared, weights)
        card |= {"keras_weights": options.keras_weights, "bytes": sizes}
    files.write(folder / preset_files.CARD, json.dumps(card, indent=1) + "\n")
    print(preset_texts.card_text(card))


def read_model(run):
    """The model of a run, with its task and labels."""
    config = run.read_json("config.json")
    model = keras.models.load_model(run / "model.keras", compile=False)
    model.task, model.labels = config["task"], config["labels"] or None
    return model


def rounded(model, weights):
    """A copy of a model with rounded kernels, which compress better."""
    if weights == "float32":
        return model
    scheme = quantization.QuantScheme(weights, "float32")
    return quantization.dequantize(quantization.quantize(model, scheme))


def file_sizes(folder):
    """The bytes of a preset's files, which must not be too many."""
    names = sorted(preset_files.FILES[1:])
    sizes = {name: (folder / name).stat().st_size for name in names}
    if max(sizes.values()) > LARGEST:
        listed = ", ".join(f"{n} {size:,}" for n, size in sizes.items())
        raise TrainingError(
            f"A file of {folder} must not have more than {LARGEST:,} bytes: "
            f"{listed}. `--weights int8` and `--keras-weights bfloat16` make "
            "them fewer."
        )
    return sizes


class File:
    """A `.tflite` file that recipes test as they test a Keras model."""

    def __init__(self, path):
        self.runner = tflite.load(path)

    def predict_on_batch(self, audio):
        return self.runner(np.asarray(audio, "float32"))


def compare(task, model, kinds, scratch):
    """Converts a model, and scores and times the files on validation data.

    Args:
        task: The run's `Task`.
        model: Its model.
        kinds: What kernels are rounded to.
        scratch: Folder to write to, a folder for each kind.

    Returns:
        A dictionary from kind to metrics, microseconds per frame and bytes.
    """
    compared = {}
    for weights in kinds:
        (scratch / weights).mkdir()
        for name in (preset_files.WHOLE, preset_files.STREAMING):
            streaming = name == preset_files.STREAMING
            tflite.convert(
                model,
                scratch / weights / name,
                streaming=streaming,
                weights=weights,
                # So that a `Detector` can listen with it.
                window=1.0 if streaming and model.task == "kws" else None,
            )
        whole = scratch / weights / preset_files.WHOLE
        compared[weights] = validate(task, File(whole))
        compared[weights]["bytes"] = whole.stat().st_size
        print(weights, compared[weights], flush=True)
    paths = [scratch / kind / preset_files.STREAMING for kind in kinds]
    audio = np.concatenate([x.ravel() for x in task.unpadded("validation", 1)])
    for weights, found in zip(kinds, tflite.measure(paths, audio)):
        compared[weights]["us_per_frame"] = 1e6 * found.median
    return compared


def validate(task, file):
    """Metrics of a file on validation data."""
    if task.config.task != "se":
        return {"accuracy": task.validate(file)["val_accuracy"]}
    pairs = task.utterances("validation")
    chosen = np.linspace(0, len(pairs) - 1, min(COMPARED, len(pairs)))
    pairs = [pairs[int(i)] for i in chosen]
    return enhanced(file, pairs)


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


def choose(compared):
    """The fastest kind of weights that is no worse than float32."""
    reference = compared["float32"]

    def is_no_worse(found):
        return all(
            found[name] >= reference[name] - tolerance
            for name, tolerance in TOLERANCES.items()
            if name in reference
        )

    good = [kind for kind, found in compared.items() if is_no_worse(found)]
    return min(good, key=lambda kind: compared[kind]["us_per_frame"])


def compressed(path):
    """The bytes of a `.keras` file, in fewer of them."""
    with tempfile.TemporaryFile() as file:
        with (
            zipfile.ZipFile(path) as source,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target,
        ):
            for name in source.namelist():
                # A date of its own would make every file another one.
                target.writestr(
                    zipfile.ZipInfo(name),
                    source.read(name),
                    zipfile.ZIP_DEFLATED,
                    9,
                )
        file.seek(0)
        return file.read()


def describe(task, run, folder, name, compared, weights):
    """The card of a preset whose files are there."""
    config, result = task.config, run.read_json("result.json")
    environment = run.read_json("environment.json")
    data = pathlib.PurePath(config.data or "synthetic").name
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
        "data": TABLES["data"][data],
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
            is_data = before in ("--data", "--start")
            kept.append(pathlib.PurePath(word).name if is_data else word)
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


def page():
    """The page of all presets."""
    cards = [preset_files.preset_card(name) for name in preset_files.presets()]
    head = PAGE_HEAD.format(
        rows="\n".join(
            f"| [`{card['name']}`](#{card['name']}) | {card['description']} | "
            f"{preset_texts.scores_text(card['metrics']['test'])} | "
            f"{card['us_per_frame']:.1f} | "
            f"{100 * card['occupancy']:.1f} % |"
            for card in cards
        )
    )
    return "\n".join([head, *map(preset_texts.card_section, cards)])


if __name__ == "__main__":
    sys.exit(main())
