"""Trained models on recordings: their recurrent layers, and the whole."""

import json
import pathlib

import keras
import numpy as np

from inference import lanes
from inference import model_files
from inference import stacks
from keras_duspar import models
from keras_duspar import tflite
from keras_duspar.native.sparse_ops import sparse_op_of
from keras_duspar.utils.audio_files import SAMPLE_RATE
from keras_duspar.utils.audio_files import read_mono

FRAMES = 1024  # of the recordings, at most, that recurrent layers get
BUILDERS = {
    "kws": models.keyword_spotter,
    "slu": models.intent_recognizer,
    "se": models.speech_enhancer,
}
# The paper's models, for when no run is given.
PAPER = {"kws": (128, 96), "slu": (128, 96), "se": (116, 96)}


def read_audio(folder, seconds):
    """The beginnings of recordings, one after the other."""
    paths = sorted(pathlib.Path(folder).rglob("*.wav"))
    paths += sorted(pathlib.Path(folder).rglob("*.flac"))
    if not paths:
        raise SystemExit(f"No .wav or .flac file in {folder}.")
    wanted, found = int(seconds * SAMPLE_RATE), []
    # From all over the folder, which is often sorted by what is said.
    for path in paths[:: max(1, len(paths) // 64)]:
        found.append(read_mono(str(path), SAMPLE_RATE)[: 3 * SAMPLE_RATE])
        if sum(map(len, found)) >= wanted:
            break
    return np.concatenate(found)[:wanted].astype("float32")


class Trained:
    """A model of a run folder, with recordings.

    Args:
        run: Folder with `model.keras` and `config.json`.
        data: Folder of recordings.
        seconds: Seconds of audio to use.
    """

    def __init__(self, run, data, seconds=6):
        run = pathlib.Path(run)
        config = json.loads((run / "config.json").read_text())
        self.task = config["task"]
        self.model = keras.models.load_model(run / "model.keras", compile=False)
        self.audio = read_audio(data, seconds)
        changed = int((run / "model.keras").stat().st_mtime)
        self.name = f"{run.name}-{changed}"
        recurrent = [
            layer for layer in self.model.layers if hasattr(layer, "cell")
        ]
        ops = [sparse_op_of(layer.cell) for layer in recurrent]
        if None in ops:
            raise SystemExit(f"{run} has layers without a sparse operator.")
        self.weights = [
            stacks.Weights(
                *([np.array(v) for v in w] for w in (op.kernels, op.biases))
            )
            for op in ops
        ]
        pools = [_pool_behind(self.model, layer) for layer in recurrent]
        units = tuple(layer.units for layer in recurrent)
        same = units == (PAPER[self.task][0],) * len(units)
        self.stack = stacks.Stack(
            self.name,
            recurrent[0].input.shape[-1],
            units,
            tuple(pools),
            (PAPER[self.task][1],) * len(units) if same else (),
        )
        front = keras.Model(self.model.input, recurrent[0].input)
        frames = np.array(front(self.audio[np.newaxis])[0], "float32")
        self.frames = frames[:FRAMES]

    def sparse(self, peers, formats):
        """Lanes of the recurrent layers by sparse operators."""
        found = []
        for weights, operands in formats:
            parts, data, first = [], self.frames[np.newaxis], 0
            for i, (n, widths, pool) in enumerate(
                self.stack.segments("DuSpaR")
            ):
                layers = self.weights[first : first + len(widths)]
                first += len(widths)
                model = model_files.duspar_model(n, layers)

                def make(path, *args, model=model, data=data):
                    model_files.write_sparse(path, model, *args, data)

                name = f"{self.name}-{i}-{weights}-{operands}"
                content = peers.store.get(name, make, weights, operands)
                part = lanes.FilePart(content)
                parts.append((part, pool))
                if first < len(self.weights):  # for the next segment
                    whole = data.shape[1] // pool * pool
                    data = np.array(model(data[:, :whole]))
                    data = data.reshape(1, -1, pool, widths[-1]).mean(axis=2)
            found.append(
                lanes.Lane(
                    f"DuSpaR {weights}/{operands}",
                    self.frames,
                    parts,
                    kind="DuSpaR",
                    runtime="LiteRT, sparse",
                    weights=weights,
                    operands=operands,
                )
            )
        return found


def _pool_behind(model, layer):
    """Steps that the layer behind one averages, or 1."""
    following = model.layers[model.layers.index(layer) + 1 :][:1]
    return getattr(following[0], "pool_size", 1) if following else 1


def noise():
    """Two seconds of it."""
    rng = np.random.default_rng(0)
    return rng.normal(0, 0.1, 2 * SAMPLE_RATE).astype("float32")


def untrained_gru(store, task):
    """The bytes of a streaming file of the paper's GRU for a task."""

    def make(path):
        model = BUILDERS[task]("gru", PAPER[task][1])
        _adapt(model, noise())
        tflite.convert(model, path, streaming=True, ops="builtin")

    return store.get(f"{task}-untrained-GRU-float32", make)


def whole_lanes(peers, task, formats, model=None, audio=None, name="untrained"):
    """Whole models from audio, and the paper's GRU for the same task."""
    if audio is None:
        audio = noise()
    if model is None:
        model = BUILDERS[task]("duspar", PAPER[task][0])
        _adapt(model, audio)
    types = dict.fromkeys(weights for weights, _ in formats)
    made = [("DuSpaR", w, {"weights": w}) for w in types]
    made.append(("DuSpaR", "built-in", {"ops": "builtin"}))
    made.append(("GRU", "float32", None))
    found = []
    for kind, weights, options in made:

        def make(path, options=options):
            tflite.convert(model, path, streaming=True, **options)

        if kind == "GRU":
            content = untrained_gru(peers.store, task)
        else:
            content = peers.store.get(f"{task}-{name}-{kind}-{weights}", make)
        part = lanes.FilePart(content)
        chunks = len(audio) // part.samples
        frames = audio[: chunks * part.samples].reshape(chunks, -1)
        found.append(
            lanes.Lane(
                f"{task} {kind} {weights}",
                frames,
                [(part, 1)],
                kind=kind,
                weights=weights,
                runtime="LiteRT",
                seconds=part.samples / SAMPLE_RATE,
            )
        )
    return found


def _adapt(model, audio):
    for layer in model.layers:
        if hasattr(layer, "adapt"):
            layer.adapt(audio[np.newaxis])
