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

import keras
import numpy as np
import soundfile

import keras_duspar

SAMPLES = 16000


def batches_of(items, size):
    """Consecutive slices of a list."""
    return (items[i : i + size] for i in range(0, len(items), size))


def load(folder):
    """Features and labels of the three parts of the data set."""
    folder = pathlib.Path(folder)
    lists = {
        part: set((folder / f"{part}_list.txt").read_text().split())
        for part in ("validation", "testing")
    }
    words = sorted(
        d.name
        for d in folder.iterdir()
        if d.is_dir() and not d.name.startswith("_")
    )
    audio = {"training": [], "validation": [], "testing": []}
    labels = {part: [] for part in audio}
    for label, word in enumerate(words):
        for path in sorted((folder / word).iterdir()):
            name = f"{word}/{path.stem}"
            part = next(
                (
                    part
                    for part, names in lists.items()
                    if {f"{name}.wav", f"{name}.flac"} & names
                ),
                "training",
            )
            samples, _ = soundfile.read(path, dtype="float32")
            samples = np.pad(samples, (0, max(0, SAMPLES - len(samples))))
            audio[part].append(samples[:SAMPLES])
            labels[part].append(label)
    log_mel = keras_duspar.audio.LogMel(padding="causal")
    log_mel.adapt(np.stack(audio["training"]))
    return words, {
        part: (
            np.concatenate(
                [
                    keras.ops.convert_to_numpy(log_mel(np.stack(some)))
                    for some in batches_of(audio[part], 256)
                ]
            ),
            np.array(labels[part]),
        )
        for part in audio
    }


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
    frames, bands = data["training"][0].shape[1:]
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
    batches = Augmented(*data["training"], seed)
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
    _, accuracy = model.evaluate(*data["testing"], batch_size=256, verbose=0)
    profile = keras_duspar.profile(model, data["testing"][0][:256])
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
    words, data = load(options.data)
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
        row = setting | train(**setting, num_words=len(words), data=data)
        rows.append(row)
        out.write_text(json.dumps(rows, indent=1))
        print(row, flush=True)


if __name__ == "__main__":
    main()
