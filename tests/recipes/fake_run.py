"""Makes folders as a training run leaves them, for tests that read them.

The numbers are drawn at random, apart from the profile, which is a real one.
"""

import csv
import functools
import json
import pathlib

import numpy as np
import soundfile

import keras_duspar
from datasets.speech_commands import WORDS
from tasks import TASKS


@functools.cache
def profile(task, layer="duspar", units=16):
    """The profile of a model that is not trained, as a dictionary."""
    seconds = 0.5 if task == "se" else 1.5
    noise = np.random.default_rng(0).normal(0, 0.1, (2, int(16000 * seconds)))
    noise *= np.abs(np.sin(np.linspace(0, 9, noise.shape[1])))
    model, noise = TASKS[task].build(layer, units), noise.astype("float32")
    if task != "se":
        model.get_layer("log_mel").adapt(noise)
    return keras_duspar.profile(model, noise).to_dict()


def make_run(
    folder,
    task="kws",
    layer="duspar",
    units=16,
    epochs=30,
    labels=WORDS,
    data=None,
    rng=None,
    **config,
):
    """Writes all files of a run.

    Args:
        folder: Where to.
        task: `"kws"`, `"slu"` or `"se"`.
        layer: Name of the recurrent layer.
        units: The layer's width.
        epochs: Number of rows of `metrics.csv`.
        labels: The labels of the confusion matrix.
        data: Folder of the data, `None` for synthetic.
        rng: NumPy generator.
        **config: More of the configuration.

    Returns:
        The folder.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rng = rng or np.random.default_rng(3)
    costs = profile(task, layer, units)
    write_json(
        folder / "config.json",
        {
            "task": task,
            "model": layer,
            "units": units,
            "num_layers": 4 if task == "se" else 2,
            "options": {},
            "seed": 0,
            "epochs": epochs,
            "batch_size": 64,
            "data": data,
            "labels": [] if task == "se" else list(labels),
            "preset": "demo",
            "backend": "jax",
            **config,
        },
    )
    write_json(
        folder / "environment.json",
        {
            "git_revision": "4e4a2e9",
            "command": ["recipes/kws.py", "--units", str(units)],
            "python": "3.11.2",
            "keras": "3.15.0",
            "started": "2025-06-01T12:00:00",
        },
    )
    write_json(folder / "profile.json", costs)
    write_metrics(folder / "metrics.csv", metrics(task, epochs, costs, rng))
    result = {
        "task": task,
        "data": data or f"synthetic speech ({task})",
        "best_epoch": max(1, round(0.8 * epochs)),
        "parameters": costs["params"],
        "dense_macs": costs["dense_macs"],
        "effective_macs": costs["effective_macs"],
        "occupancy": costs["occupancy"],
        "seconds": 512.3,
    }
    if task == "se":
        result["test"] = scores(1.97, 2.41, 160)
        write_examples(folder / "examples", rng)
    else:
        result["test"] = {"accuracy": 0.9253, "count": 870}
        counts = confusion(len(labels), rng)
        write_confusion(folder / "confusion.csv", labels, counts)
    write_json(folder / "result.json", result)
    return folder


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2))


def write_metrics(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def metrics(task, epochs, costs, rng):
    """Rows that fall and rise as those of a training do."""
    rows = []
    recurrent = [
        layer
        for layer in costs["layers"]
        if any(operand["over_time"] for operand in layer["operands"])
    ]
    for epoch in range(1, epochs + 1):
        left = np.exp(-4 * epoch / epochs)
        wave = 0.02 * rng.normal(size=4)
        row = {"epoch": epoch, "loss": 0.2 + 3 * left + wave[0]}
        if task == "se":
            row["val_loss"] = 0.3 + 3 * left + wave[1]
            row["val_si_snr"] = 14 - 10 * left + 10 * wave[2]
        else:
            row["accuracy"] = 0.97 - 0.8 * left + wave[2] / 4
            row["val_loss"] = 0.4 + 2.8 * left + wave[1]
            row["val_accuracy"] = 0.93 - 0.8 * left + wave[3] / 4
        row["learning_rate"] = 1e-3 * (1 + np.cos(np.pi * epoch / epochs))
        row["seconds"] = 15 + rng.normal()
        row["occupancy"] = 0.5 - 0.1 * (1 - left)
        row["effective_macs"] = row["occupancy"] * costs["dense_macs"]
        for i, layer in enumerate(recurrent):
            row[f"occupancy/{layer['name']}"] = 0.5 - 0.05 * i * (1 - left)
        rows.append(row)
    return rows


def scores(noisy, enhanced, count=None):
    found = {
        "pesq_wb": {"noisy": noisy, "enhanced": enhanced},
        "stoi": {"noisy": 0.921, "enhanced": 0.938},
        "si_sdr": {"noisy": 8.45, "enhanced": 16.2},
    }
    return {**found, "count": count, "failed": 0} if count else found


def confusion(size, rng, tests=25):
    """Counts that are mostly right, with two columns often mistaken."""
    counts = np.zeros((size, size), int)
    for i in range(size):
        wrong = rng.integers(0, 4)
        others = rng.choice([i, (i + 1) % size, rng.integers(size)], wrong)
        np.add.at(counts[i], others, 1)
        counts[i, i] += tests - wrong
    return counts


def write_confusion(path, labels, counts, extra=()):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["", *labels, *extra])
        for label, row in zip(labels, counts):
            writer.writerow([label, *row])


def write_examples(folder, rng, count=2, seconds=2.5):
    """A sweep with harmonics stands for speech, white noise for noise."""
    folder.mkdir(exist_ok=True)
    time = np.arange(int(16000 * seconds)) / 16000
    listed = []
    for i in range(1, count + 1):
        phase = 2 * np.pi * (120 + 40 * i + 20 * np.sin(3 * time)) * time
        loud = np.clip(np.sin(2 * np.pi * 2 * time), 0, 1)
        clean = 0.1 * loud * sum(np.sin(k * phase) / k for k in range(1, 20))
        noise = 0.05 * rng.normal(size=len(time))
        signals = {
            "noisy": clean + noise,
            "enhanced": clean + 0.1 * noise,
            "clean": clean,
        }
        entry = {"id": f"p{i}", "snr_db": 5, **scores(1.5, 2.2)}
        for kind, signal in signals.items():
            entry[kind] = f"{i}_{kind}.wav"
            soundfile.write(folder / entry[kind], signal, 16000)
        listed.append(entry)
    write_json(folder / "examples.json", listed)
