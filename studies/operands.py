"""Draws what a keyword spotter multiplies while it hears a recording.

    python studies/operands.py RUN RECORDING ... --out operands.png

Needs the folder of a run of `recipes/kws.py` with DuSpaR. The recordings are
joined. From above: the waveform, the operands of every recurrent layer, of
which white entries are zeros, and the MACs of every frame.
"""

import argparse
import json
import pathlib

import keras
import numpy as np
from matplotlib import colormaps
from matplotlib.colors import ListedColormap
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

import keras_duspar
from keras_duspar.layers import walking
from keras_duspar.utils.audio_files import SAMPLE_RATE
from keras_duspar.utils.audio_files import read_mono

# Told apart by the color-blind, and in print by their hatches.
COLORS = ("#0072B2", "#E69F00", "#56B4E9", "#F0E442", "#009E73", "#D55E00")
SHADES = ListedColormap(colormaps["Blues"](np.linspace(0.3, 1, 256)))
HATCHES = ("", "///", "", "\\\\\\", "", "xxx")


def operands_of(layer, sequences):
    """Dictionary of operand to an array of shape `(entries, steps)`."""
    states = layer.cell.get_initial_state(batch_size=1)
    found = []
    for x in np.moveaxis(sequences, 1, 0):
        _, states, operands = walking.cell_step(layer.cell, x, states)
        found.append(keras.tree.map_structure(np.asarray, operands))
    return {n: np.concatenate([o[n] for o in found]).T for n in found[0]}


def listen(model, audio):
    """Dictionaries of recurrent layer to its operands and to its cost."""
    layers = walking.recurrent_layers(model)
    inputs = [model.get_layer(name).input for name in layers]
    sequences = keras.Model(model.input, inputs).predict(audio, verbose=0)
    operands = {
        name: operands_of(layer, sequence)
        for (name, layer), sequence in zip(layers.items(), sequences)
    }
    return operands, {n: layer.cell.cost() for n, layer in layers.items()}


def draw(audio, operands, costs):
    """The figure."""
    curves = [(n, o) for n in operands for o in operands[n]]
    steps = operands[curves[0][0]][curves[0][1]].shape[1]
    seconds = len(audio) / SAMPLE_RATE
    figure = Figure(figsize=(8, 9), layout="constrained")
    heights = [1, *[1.1] * len(curves), 1.6]
    axes = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    axes[0].plot(
        np.arange(len(audio)) / SAMPLE_RATE, audio, lw=0.5, color="#333333"
    )
    axes[0].set_ylabel("waveform")
    largest = max(operands[n][o].max() for n, o in curves)
    for (name, operand), axis in zip(curves, axes[1:]):
        values = operands[name][operand]
        image = axis.imshow(
            np.ma.masked_less_equal(values, 0),
            aspect="auto",
            origin="lower",
            interpolation="nearest",
            extent=(0, seconds, 0, len(values)),
            cmap=SHADES,
            norm=LogNorm(largest / 100, largest),
        )
        share = np.count_nonzero(values) / values.size
        axis.set_ylabel(f"{operand}, layer {name[-1]}\nentry")
        axis.text(
            1.01,
            0.5,
            f"{share:.0%}\nnot\nzero",
            transform=axis.transAxes,
            va="center",
        )
    figure.colorbar(
        image,
        ax=list(axes[1:-1]),
        label="value (white: zero)",
        pad=0.08,
        aspect=40,
        extend="min",
    )
    time = np.linspace(0, seconds, steps + 1)
    base, dense = np.zeros(steps), 0
    for i, (name, operand) in enumerate(curves):
        cost = next(o for o in costs[name].operands if o.name == operand)
        macs = cost.fan * np.count_nonzero(operands[name][operand], axis=0)
        axes[-1].stairs(
            (base + macs) / 1e3,
            time,
            baseline=base / 1e3,
            fill=True,
            facecolor=COLORS[i],
            hatch=HATCHES[i],
            edgecolor="white",
            lw=0,
            label=f"{operand}, layer {name[-1]}",
        )
        base, dense = base + macs, dense + cost.fan * cost.size
    axes[-1].axhline(dense / 1e3, color="black", ls="--", label="all entries")
    axes[-1].set_ylim(0, dense / 1e3 * 1.15)
    axes[-1].set_ylabel("thousand MACs\nper frame")
    axes[-1].set_xlabel("time in seconds")
    axes[-1].legend(loc="upper center", ncols=5, bbox_to_anchor=(0.5, -0.3))
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=pathlib.Path, help="folder of the run")
    parser.add_argument("recordings", nargs="+", help="16 kHz, one channel")
    parser.add_argument("--out", default="operands.png", help="the picture")
    arguments = parser.parse_args()
    model = keras.models.load_model(arguments.run / "model.keras")
    labels = json.loads((arguments.run / "config.json").read_text())["labels"]
    recordings = [read_mono(r, SAMPLE_RATE) for r in arguments.recordings]
    for name, audio in zip(arguments.recordings, recordings):
        logits = model.predict(audio[np.newaxis], verbose=0)[0]
        print(f"{pathlib.Path(name).name}: {labels[logits.argmax()]}")
    audio = np.concatenate(recordings)
    draw(audio, *listen(model, audio[np.newaxis])).savefig(
        arguments.out, dpi=120
    )
    keras_duspar.profile(model, audio[np.newaxis]).table()


if __name__ == "__main__":
    main()
