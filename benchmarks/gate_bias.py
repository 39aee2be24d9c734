"""Which initial gate bias trains best? Keyword spotting for several values.

    python benchmarks/gate_bias.py --data FOLDER

FOLDER has the layout of Speech Commands: a folder of recordings for each
word, `validation_list.txt` and `testing_list.txt`. Every training is added to
the results file as soon as it ends, and those in the file are not repeated.
"""

import argparse
import itertools
import json
import pathlib
import sys

import keras
import numpy as np

import keras_duspar

sys.path.insert(
    0, str(pathlib.Path(__file__).resolve().parent.parent / "recipes")
)

from datasets import sources
from datasets.batches import KeywordBatches


def load(folder):
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


def train(recurrent, units, gate_bias, seed, epochs, num_words, data):
    """Trains once; returns accuracies and the occupancy."""
    keras.utils.set_random_seed(seed)
    layer_class = keras_duspar.layers.get(recurrent)
    frames, bands = data["train"][0].shape[1:]
    recurrent_layers = [
        layer_class(
            units,
            gate_bias_initializer=keras.initializers.Constant(gate_bias),
            return_sequences=True,
        )
        for _ in range(2)
    ]
    model = keras.Sequential(
        [
            keras.Input((frames, bands)),
            *recurrent_layers,
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
    history = model.fit(
        batches,
        epochs=epochs,
        validation_data=data["validation"],
        validation_batch_size=256,
        verbose=0,
    )
    _, accuracy = model.evaluate(*data["test"], batch_size=256, verbose=0)
    profile = keras_duspar.profile(model, data["test"][0][:256])
    return {
        "test_accuracy": accuracy,
        "validation_accuracy": history.history["val_accuracy"][-1],
        "first_epochs": history.history["val_accuracy"][:5],
        "occupancy": profile.occupancy,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="Speech Commands folder")
    parser.add_argument("--recurrent", default=["duspar"], nargs="+")
    parser.add_argument("--units", type=int, default=128)
    parser.add_argument(
        "--gate-bias", type=float, nargs="+", default=[-2, -1, 0, 1, 2]
    )
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--out", default="runs/gate_bias.json")
    options = parser.parse_args()
    num_words, data = load(options.data)
    out = pathlib.Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    rows = json.loads(out.read_text()) if out.exists() else []
    for seed, recurrent, gate_bias in itertools.product(
        range(options.seeds),
        options.recurrent,
        options.gate_bias,
    ):
        setting = {
            "recurrent": recurrent,
            "units": options.units,
            "gate_bias": gate_bias,
            "seed": seed,
            "epochs": options.epochs,
        }
        if any(setting.items() <= row.items() for row in rows):
            continue
        row = setting | train(**setting, num_words=num_words, data=data)
        rows.append(row)
        out.write_text(json.dumps(rows, indent=1))
        print(row, flush=True)


if __name__ == "__main__":
    main()
