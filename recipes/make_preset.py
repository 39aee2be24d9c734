"""Makes a preset of the package out of a finished run.

    python recipes/make_preset.py runs/kws-duspar-128 kws_duspar_128_words30
    python recipes/make_preset.py --again kws_duspar_128_words30
    python recipes/make_preset.py --page

The run's model is converted with float32, bfloat16 and int8 weights, each for
whole recordings and for streams. On validation data the fastest that is no
worse than float32 is chosen, and tested on the test data. The folder
`keras_duspar/presets/NAME` gets `model.keras`, `model.tflite`,
`streaming.tflite` and `card.json`, which says all that was found. `--again`
converts the files of a preset anew, as a later converter may make them faster,
and `--page` writes `docs/presets.md` out of the cards.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import zipfile

import prepare  # noqa: F401 - before Keras is imported

# isort: split
import keras
import numpy as np

from datasets.base import DataError
from keras_duspar import quantization
from keras_duspar import tflite
from keras_duspar.models import preset_files
from keras_duspar.models import preset_texts
from keras_duspar.utils import files
from keras_duspar.utils.audio_files import SAMPLE_RATE
from preset_card import TABLES
from preset_card import File
from preset_card import describe
from preset_card import enhanced
from preset_card import sample_audio
from preset_card import sample_outputs
from preset_card import timed
from trainer.command import open_run
from trainer.errors import TrainingError
from trainer.run_folder import RunFolder

PAGE = pathlib.Path(__file__).parent.parent / "docs" / "presets.md"
WEIGHTS = ("float32", "bfloat16", "int8")
# What a metric may lose on validation data and still be no worse.
TOLERANCES = {"accuracy": 1e-3, "pesq_wb": 0.01, "stoi": 1e-3, "si_sdr": 0.05}
LARGEST = 1_000_000  # bytes of a file
# Enhanced utterances whose metrics are compared: PESQ takes time.
COMPARED = 64
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
of the data. A preset is made by `python recipes/make_preset.py RUN NAME`. Its
weights are the fastest, on the machine that made it, of those that are no worse
than float32 on validation data; times may have been taken anew on another.
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
        "--again",
        nargs="+",
        metavar="NAME",
        default=[],
        help="convert these presets anew and time them; scores stay, as the "
        "outputs must",
    )
    parser.add_argument(
        "--page", action="store_true", help="write docs/presets.md anew"
    )
    options = parser.parse_args(arguments)
    try:
        if options.run is not None:
            make(options)
        for name in options.again:
            make_again(pathlib.Path(options.out) / name)
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
            f"preset_card.yaml knows the limits. Received: {options.name}."
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


def make_again(folder):
    """Converts the files of a preset anew, in place."""
    if not (folder / preset_files.CARD).is_file():
        raise TrainingError(
            "`--again` must name presets that are there. Received: "
            f"{folder.name}, which is not in {folder.parent}."
        )
    card = json.loads((folder / preset_files.CARD).read_text("utf-8"))
    model = keras.models.load_model(folder / preset_files.KERAS, compile=False)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        kinds = list(card["compared"])
        for kind in kinds:
            (scratch / kind).mkdir()
            convert(model, scratch / kind, kind)
        keep_detector(folder, scratch / card["weights"])
        for name in (preset_files.WHOLE, preset_files.STREAMING):
            check_equal(folder / name, scratch / card["weights"] / name)
        times = time_per_frame(scratch, kinds, speech(10))
        for name in (preset_files.WHOLE, preset_files.STREAMING):
            content = (scratch / card["weights"] / name).read_bytes()
            files.write(folder / name, content)
    for kind, found in times.items():
        card["compared"][kind]["us_per_frame"] = found
    card["us_per_frame"], card["timed"] = times[card["weights"]], timed()
    card["bytes"] = file_sizes(folder)
    card["sample"] = sample_outputs(folder)
    files.write(folder / preset_files.CARD, json.dumps(card, indent=1) + "\n")
    print(preset_texts.card_text(card))


def keep_detector(old, new):
    """The thresholds that were chosen for a file go into its new one."""
    about = tflite.inspect(old / preset_files.STREAMING).description
    if about.get("detector"):
        kept = about["detector"]
        thresholds = dict(zip(about["labels"], kept["thresholds"]))
        tflite.store_detector(
            new / preset_files.STREAMING,
            thresholds,
            kept["smoothing"],
            kept["refractory"],
        )


def check_equal(old, new):
    """Raises unless two files make the same of a sound, up to rounding."""
    audio = speech(2)[np.newaxis]
    before, after = (
        next(iter(y.values())) if isinstance(y, dict) else y
        for y in (tflite.load(path)(audio) for path in (old, new))
    )
    far = float(abs(after - before).max()) / max(float(abs(before).max()), 1e-9)
    if far > 1e-3:
        raise TrainingError(
            f"{old.parent.name}/{old.name} makes something else of the same "
            f"sound once it is converted anew, by {far:.1g} of the largest "
            "output: make the preset of its run."
        )


def speech(seconds):
    """Some seconds of the sound that cards are made with."""
    return np.resize(sample_audio(), seconds * SAMPLE_RATE)


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
        convert(model, scratch / weights, weights)
        whole = scratch / weights / preset_files.WHOLE
        compared[weights] = validate(task, File(whole))
        compared[weights]["bytes"] = whole.stat().st_size
        print(weights, compared[weights], flush=True)
    audio = np.concatenate([x.ravel() for x in task.unpadded("validation", 1)])
    for weights, found in time_per_frame(scratch, kinds, audio).items():
        compared[weights]["us_per_frame"] = found
    return compared


def time_per_frame(scratch, kinds, audio):
    """Microseconds of a streaming step of the files of each kind, in turn."""
    paths = [scratch / kind / preset_files.STREAMING for kind in kinds]
    found = tflite.measure(paths, audio)
    return {kind: 1e6 * one.median for kind, one in zip(kinds, found)}


def convert(model, folder, weights):
    """Writes the two `.tflite` files of a preset into a folder."""
    for name in (preset_files.WHOLE, preset_files.STREAMING):
        streaming = name == preset_files.STREAMING
        tflite.convert(
            model,
            folder / name,
            streaming=streaming,
            weights=weights,
            # So that a `Detector` can listen with it.
            window=1.0 if streaming and model.task == "kws" else None,
        )


def validate(task, file):
    """Metrics of a file on validation data."""
    if task.config.task != "se":
        return {"accuracy": task.validate(file)["val_accuracy"]}
    pairs = task.utterances("validation")
    chosen = np.linspace(0, len(pairs) - 1, min(COMPARED, len(pairs)))
    pairs = [pairs[int(i)] for i in chosen]
    return enhanced(file, pairs)


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
