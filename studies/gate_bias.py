"""How should the biases of the gates begin? Small tasks and speech.

    python studies/gate_bias.py --tasks recall-20 adding-100 --seeds 3
    python studies/gate_bias.py --tasks kws slu se --data ../shared/data
    python studies/gate_bias.py --table

Every training is added to the results file `--out` as soon as it ends, and
those in the file are not repeated, so that a study can be run by parts.
`--table` prints what the file has. A start of the biases is written

    default     what the layer does by itself
    c-2         a constant, of every gate
    u-6:0       uniform between two numbers
    u-6:0/c0    of the feedforward gate and, behind "/", of the feedback gate

and a layer `gru`, which has no such biases, is trained once per seed.

The tasks:

    recall-T    which of 8 channels was 1 in the first of T + 1 steps, the
                others being noise; accuracy
    adding-T    the sum of the two of T numbers that a second channel marks;
                mean squared error (1/6 is that of a guess)
    digits      scikit-learn's 8 x 8 digits, a pixel per step; accuracy
    rows        the same, a row of pixels per step
    kws         a keyword spotter on log-mel features; accuracy
    slu, se     the recipes, on real recordings; accuracy and SI-SDR in dB

Numbers and pixels pass a dense layer of 32 first, as one or two numbers would
leave DuSpaR hardly any weights. `--data` is the folder with `kws`, `slu` and
`se`, in the layouts of Speech Commands, Fluent Speech Commands and of a folder
with clean speech and noise.
"""

import argparse
import functools
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import keras
import numpy as np
from sklearn.datasets import load_digits

import keras_duspar

sys.path.insert(
    0, str(pathlib.Path(__file__).resolve().parent.parent / "recipes")
)

from datasets import sources
from datasets.batches import KeywordBatches

RECIPES = pathlib.Path(sys.path[0])

# Units of layers with about as many parameters as each other, by the width of
# the input; but in recall a GRU of 32 units has more than twice the others'.
UNITS = {
    "recall": {"gru": 32, "duspar": 48, "spar": 96, "mingru": 96},
    "encoded": {"gru": 40, "duspar": 64, "spar": 128, "mingru": 128},
    "rows": {"gru": 32, "duspar": 120, "spar": 240, "mingru": 240},
    "kws": {"gru": 96, "duspar": 128, "spar": 192, "mingru": 192},
    "slu": {"gru": 96, "duspar": 128, "spar": 192, "mingru": 190},
    "se": {"gru": 96, "duspar": 116, "spar": 158, "mingru": 158},
}
# Short trainings; all else is the recipes' own.
RECIPE_SETTINGS = {
    "slu": ["--epochs", "40", "--batch-size", "16"],
    "se": ["--epochs", "4", "--learning-rate", "5e-4"],
}


# Biases


def initializer(text):
    """The initializer that `c-2` or `u-6:0` means."""
    kind = {
        "c": keras.initializers.Constant,
        "u": keras.initializers.RandomUniform,
    }[text[0]]
    return kind(*(float(number) for number in text[1:].split(":")))


def recurrent(name, units, start, **kwargs):
    """A layer whose gates begin as `start` says."""
    layer_class = keras_duspar.layers.get(name)
    if start == "default":
        return layer_class(units, **kwargs)
    forward, _, feedback = start.partition("/")
    kwargs["gate_bias_initializer"] = initializer(forward)
    layer = layer_class(units, **kwargs)
    if feedback:
        _replace_feedback(layer, initializer(feedback))
    return layer


def _replace_feedback(layer, draw):
    # The layer has one argument for both gates.
    build = layer.cell.build

    def build_and_replace(shape):
        build(shape)
        bias = layer.cell.feedback.gate_bias
        bias.assign(draw(bias.shape))

    layer.cell.build = build_and_replace


# Small tasks: arrays


def recall(steps, random, count):
    cue = random.integers(8, size=count)
    x = 0.3 * random.standard_normal((count, steps + 1, 8))
    x[:, 0] = np.eye(8)[cue]
    return x.astype("float32"), cue


def adding(steps, random, count):
    values = random.uniform(size=(count, steps))
    marks = np.zeros((count, steps))
    rows = np.arange(count)
    half = steps // 2
    marks[rows, random.integers(half, size=count)] = 1
    marks[rows, random.integers(half, steps, size=count)] = 1
    x = np.stack([values, marks], axis=-1).astype("float32")
    return x, np.sum(values * marks, axis=1).astype("float32")


def digits(steps):
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    x = (x[order] / 16).astype("float32").reshape(len(y), steps, -1)
    y = y[order]
    parts = slice(1200), slice(1200, 1500), slice(1500, None)
    return [(x[part], y[part]) for part in parts]


def small_model(name, units, start, shape, outputs, encoded):
    encoder = [keras.layers.Dense(32)] if encoded else []
    return keras.Sequential(
        [
            keras.Input(shape),
            *encoder,
            recurrent(name, units, start),
            keras.layers.Dense(outputs),
        ]
    )


def train_small(task, name, start, seed):
    """Trains for a small task once; the scores on unseen examples."""
    kind, _, steps = task.partition("-")
    steps = int(steps or {"digits": 64, "rows": 8}[kind])
    random = np.random.default_rng(seed + 1000)
    if kind in ("digits", "rows"):
        train, validation, test = digits(steps)
        outputs, epochs = 10, 40 if kind == "digits" else 20
    else:
        draw = {"recall": recall, "adding": adding}[kind]
        train, validation, test = (
            draw(steps, random, count) for count in (4096, 1024, 1024)
        )
        outputs, epochs = (8, 10) if kind == "recall" else (1, 20)
    keras.utils.set_random_seed(seed)
    encoded = kind in ("adding", "digits")
    units = UNITS["encoded" if encoded else kind][name]
    model = small_model(
        name, units, start, train[0].shape[1:], outputs, encoded
    )
    batch = 64
    updates = epochs * (len(train[1]) // batch)
    rate = keras.optimizers.schedules.CosineDecay(4e-3, updates)
    classes = kind != "adding"
    model.compile(
        keras.optimizers.Adam(rate, global_clipnorm=1.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        if classes
        else "mse",
        metrics=["accuracy"] if classes else [],
    )
    count = len(train[1]) // batch * batch  # JAX compiles once per shape
    model.fit(
        train[0][:count],
        train[1][:count],
        batch_size=batch,
        epochs=epochs,
        verbose=0,
    )
    return scores(model, validation, test)


def scores(model, validation, test):
    """The figures of a trained model: accuracies, or errors without one."""
    found = {"parameters": model.count_params()}
    for split, data in (("validation", validation), ("test", test)):
        value = model.evaluate(*data, batch_size=256, verbose=0)
        found[split] = float(np.ravel(value)[-1])
    profile = keras_duspar.profile(model, validation[0][:64])
    return found | {"occupancy": profile.occupancy}


# Keyword spotting


@functools.cache
def keywords(folder):
    """The number of words, and features and labels of every split."""
    data = sources.load("kws", folder)
    batches = {split: KeywordBatches(data, split, 256) for split in data.splits}
    parts = {
        split: [served[step] for step in range(len(served))]
        for split, served in batches.items()
    }
    log_mel = keras_duspar.audio.LogMel(padding="causal")
    log_mel.adapt(audio for audio, _ in parts["train"])
    found = {}
    for split, served in parts.items():
        features = [keras.ops.convert_to_numpy(log_mel(a)) for a, _ in served]
        labels = [labels for _, labels in served]
        found[split] = np.concatenate(features), np.concatenate(labels)
    return len(data.labels), found


class Augmented(keras.utils.PyDataset):
    """Batches shifted in time, with one band and one stretch masked."""

    def __init__(self, features, labels, seed, batch_size=64):
        super().__init__()
        self.features, self.labels = features, labels
        self.batch_size = batch_size
        self.random = np.random.default_rng(seed)
        self.on_epoch_end()

    def on_epoch_end(self):
        self.order = self.random.permutation(len(self.labels))

    def __len__(self):
        return len(self.labels) // self.batch_size

    def __getitem__(self, index):
        chosen = self.order[index * self.batch_size :][: self.batch_size]
        batch = self.features[chosen]
        frames, bands = batch.shape[1:]
        for example in batch:
            shift = self.random.integers(-6, 7)
            example[:] = np.roll(example, shift, axis=0)
            start = self.random.integers(bands - 8)
            example[:, start : start + self.random.integers(9)] = 0
            start = self.random.integers(frames - 8)
            example[start : start + self.random.integers(9)] = 0
        return batch, self.labels[chosen]


def train_keywords(name, start, seed, folder, epochs):
    """Trains a keyword spotter once; its accuracies."""
    num_words, data = keywords(folder)
    keras.utils.set_random_seed(seed)
    frames, bands = data["train"][0].shape[1:]
    units = UNITS["kws"][name]
    model = keras.Sequential(
        [
            keras.Input((frames, bands)),
            recurrent(name, units, start, return_sequences=True),
            recurrent(name, units, start, return_sequences=True),
            keras.layers.Dense(num_words),
            keras.layers.GlobalAveragePooling1D(),
        ]
    )
    batches = Augmented(*data["train"], seed)
    rate = keras.optimizers.schedules.CosineDecay(2e-3, epochs * len(batches))
    model.compile(
        keras.optimizers.AdamW(rate, weight_decay=1e-2, global_clipnorm=1.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    model.fit(batches, epochs=epochs, verbose=0)
    return scores(model, data["validation"], data["test"])


# The recipes


def train_recipe(task, name, start, seed, folder):
    """Trains with a recipe once, and reads the figures of its folder."""
    options = {}
    if start != "default":
        draw = keras.initializers.serialize(initializer(start))
        options = {"gate_bias_initializer": draw}
    with tempfile.TemporaryDirectory() as runs:
        run = pathlib.Path(runs) / "run"
        command = [
            *(sys.executable, str(RECIPES / f"{task}.py")),
            *("--data", folder, "--model", name, "--seed", str(seed)),
            *("--units", str(UNITS[task][name]), "--backend", "jax"),
            *("--options", json.dumps(options), "--out", str(run)),
            *RECIPE_SETTINGS[task],
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        result = json.loads((run / "result.json").read_text())
    name, test = "accuracy", result["test"].get("accuracy")
    if task == "se":
        name, test = "si_snr", result["test"]["si_sdr"]["enhanced"]
    return {
        "validation": result["validation"][name],
        "test": test,
        "parameters": result["parameters"],
        "occupancy": result["occupancy"],
    }


# All of it


def train(task, name, start, seed, options):
    """Trains once; a dictionary with the scores."""
    folder = str(pathlib.Path(options.data) / task)
    if task == "kws":
        return train_keywords(name, start, seed, folder, options.kws_epochs)
    if task in ("slu", "se"):
        return train_recipe(task, name, start, seed, folder)
    return train_small(task, name, start, seed)


def table(rows):
    """Prints means over the seeds, a line per layer and start."""
    for split in ("validation", "test"):
        print(f"\n{split}\n")
        _table(rows, split)


def _table(rows, split):
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    print("| layer | biases |", " | ".join(tasks), "|")
    print("| --- " * (2 + len(tasks)) + "|")
    kinds = dict.fromkeys((row["layer"], row["start"]) for row in rows)
    for name, start in sorted(kinds):
        cells = []
        for task in tasks:
            found = [
                row
                for row in rows
                if (row["layer"], row["start"], row["task"])
                == (name, start, task)
            ]
            cells.append(cell(found, split))
        print(f"| {name} | {start} |", " | ".join(cells), "|")


def cell(rows, split):
    if not rows:
        return ""
    found = [row[split] for row in rows]
    share = np.mean([row["occupancy"] for row in rows])
    spread = f" ± {np.std(found):.3f}" if len(rows) > 1 else ""
    return f"{np.mean(found):.3f}{spread} ({100 * share:.0f} %)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", nargs="+", default=[])
    parser.add_argument("--layers", nargs="+", default=["gru", "duspar"])
    parser.add_argument("--starts", nargs="+", default=["default"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--kws-epochs", type=int, default=20)
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--out", default="runs/gate_bias.jsonl")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    out = pathlib.Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    lines = out.read_text().splitlines() if out.exists() else []
    rows = [json.loads(line) for line in lines]
    for seed, task, name, start in itertools.product(
        range(options.seeds), options.tasks, options.layers, options.starts
    ):
        start = "default" if name == "gru" else start
        setting = {"task": task, "layer": name, "start": start, "seed": seed}
        if any(setting.items() <= row.items() for row in rows):
            continue
        began = time.monotonic()
        row = setting | train(task, name, start, seed, options)
        row["seconds"] = round(time.monotonic() - began, 1)
        rows.append(row)
        with out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)
        keras.utils.clear_session(free_memory=True)
    if options.table:
        table(rows)


if __name__ == "__main__":
    main()
