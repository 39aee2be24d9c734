"""The lanes of a stack: DuSpaR at every occupancy, and what it is up against.

What is not installed is left out and named.
"""

import zlib

import numpy as np

from inference import lanes
from inference import model_files
from inference import stacks
from keras_duspar import native
from keras_duspar import tflite


def gru_weights(rng, features, widths):
    """Random weights of GRU layers, as Keras has them."""
    found = []
    for m in widths:
        found.append(
            [
                rng.normal(0, 1 / np.sqrt(features), (features, 3 * m)),
                rng.normal(0, 1 / np.sqrt(m), (m, 3 * m)),
                rng.normal(0, 0.1, (2, 3 * m)),
            ]
        )
        features = m
    return [[w.astype("float32") for w in layer] for layer in found]


def file_name(kind, features, widths, type_):
    """What a file of random weights is kept under: stacks share them."""
    return "-".join(map(str, (kind, features, *widths, type_)))


class Peers:
    """Makes lanes.

    Args:
        store: `model_files.Files`.
        library: Path of the library of dense kernels, or `None`.
        log: Function that takes a line of text.
    """

    def __init__(self, store, library, log):
        self.store, self.library, self.log = store, library, log
        self.missing = {}

    def attempt(self, name, make, *args, **kwargs):
        """A list of one lane, or of none if it cannot be had."""
        try:
            return [make(*args, **kwargs)]
        except (ImportError, ValueError, RuntimeError) as e:
            reason = str(e).strip().splitlines()[0]
            if self.missing.get(name) != reason:
                self.log(f"left out: {name} ({reason})")
            self.missing[name] = reason
            return []

    def empty(self):
        """The lane of a file that does nothing."""
        content = self.store.get("empty", model_files.write_empty)
        part = lanes.FilePart(content)
        frames = np.zeros((1, 8), "f")
        return lanes.Lane("empty file", frames, [(part, 1)], runtime="LiteRT")

    def sparse(self, stack, formats, occupancies):
        """DuSpaR by sparse operators."""
        frames = stacks.random_frames(stack)
        template = stacks.random_layers(stack)
        at = {
            o: stacks.at_occupancy(stack, frames, template, o)
            for o in occupancies
        }
        found = []
        for weights, operands in formats:
            for occupancy in occupancies:
                parts, first = [], 0
                for i, segment in enumerate(stack.segments("DuSpaR")):
                    features, widths, pool = segment
                    last = first + len(widths)
                    content = self._template(
                        stack, i, features, template[first:last],
                        weights, operands, frames,
                    )  # fmt: skip
                    content = model_files.change_biases(
                        content, at[occupancy][first:last], operands
                    )
                    parts.append((lanes.FilePart(content), pool))
                    first = last
                found.append(
                    lanes.Lane(
                        f"DuSpaR {weights}/{operands} {occupancy:.0%}",
                        frames,
                        parts,
                        kind="DuSpaR",
                        runtime="LiteRT, sparse",
                        weights=weights,
                        operands=operands,
                        asked=occupancy,
                    )
                )
        return found

    def _template(self, stack, i, features, layers, weights, operands, frames):
        # Biases are found for these kernels and no others.
        check = zlib.crc32(b"".join(w.kernels[0].tobytes() for w in layers))
        name = f"{stack.name}-{i}-{weights}-{operands}-{check:08x}"
        data = np.zeros((1, 4, features), "f") + frames[0, 0]

        def make(path):
            self.log(f"converting {name}")
            model = model_files.duspar_model(features, layers)
            model_files.write_sparse(path, model, weights, operands, data)

        return self.store.get(name, make)

    def builtin(self, stack):
        """DuSpaR by built-in operators, which compute every product."""
        frames = stacks.random_frames(stack)
        layers = stacks.random_layers(stack)
        parts, first = [], 0
        for features, widths, pool in stack.segments("DuSpaR"):
            segment = layers[first : first + len(widths)]
            first += len(widths)

            def make(path, features=features, segment=segment):
                model = model_files.duspar_model(features, segment)
                tflite.convert(model, path, streaming=True, ops="builtin")

            name = file_name("DuSpaR", features, widths, "builtin")
            content = self.store.get(name, make)
            parts.append((lanes.FilePart(content), pool))
        return lanes.Lane(
            "DuSpaR built-in",
            frames,
            parts,
            kind="DuSpaR",
            runtime="LiteRT, built-in",
            weights="float32",
        )

    def litert(self, stack, kind, type_):
        """Keras' GRU or LSTM through LiteRT's converter."""
        frames = stacks.random_frames(stack)
        parts = []
        for features, widths, pool in stack.segments(kind):

            def make(path, features=features, widths=widths):
                model_files.write_cells(path, kind, features, widths, type_)

            name = file_name(kind, features, widths, type_)
            parts.append((lanes.FilePart(self.store.get(name, make)), pool))
        return self._peer(
            lanes.Lane, stack, kind, "LiteRT", type_, frames, parts
        )

    def _peer(self, make, stack, kind, runtime, type_, *args, **more):
        return make(
            f"{kind} {runtime} {type_}",
            *args,
            kind=kind,
            runtime=runtime,
            weights=type_,
            widths=list(stack.widths(kind)),
            parameters=stack.parameters(kind),
            **more,
        )

    def gru(self, stack, part_class, runtime):
        """A GRU of another package."""
        frames = stacks.random_frames(stack)
        rng = np.random.default_rng(1)
        parts = [
            (part_class(gru_weights(rng, features, widths)), pool)
            for features, widths, pool in stack.segments("GRU")
        ]
        return self._peer(
            lanes.Lane, stack, "GRU", runtime, "float32", frames, parts
        )

    def dense(self, stack, int8):
        """Our own dense GRU in C."""
        if self.library is None:
            raise ImportError("needs CMake and a C compiler")
        frames = stacks.random_frames(stack)
        rng = np.random.default_rng(1)
        widths = stack.widths("GRU")
        return self._peer(
            lanes.DenseKernel,
            stack,
            "GRU",
            "our own kernel in C",
            "int8" if int8 else "float32",
            frames,
            gru_weights(rng, stack.features, widths),
            stack.pools or (1,) * len(widths),
            self.library,
            int8,
            vectors=native.kernels()[0],
        )

    def opponents(self, stack):
        """All that DuSpaR is compared with."""
        found = self.attempt(
            "DuSpaR of built-in operators", self.builtin, stack
        )
        for kind in ("GRU", "LSTM"):
            for type_ in model_files.TYPES:
                name = f"LiteRT {kind}, {type_}"
                found += self.attempt(name, self.litert, stack, kind, type_)
        for int8 in (False, True):
            name = f"our own dense GRU, {'int8' if int8 else 'float32'}"
            found += self.attempt(name, self.dense, stack, int8)
        for part_class, runtime in (
            (lanes.OnnxPart, "ONNX Runtime"),
            (lanes.TorchPart, "torch"),
        ):
            found += self.attempt(runtime, self.gru, stack, part_class, runtime)
        return found
