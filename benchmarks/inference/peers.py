"""The lanes of a stack: DuSpaR at every occupancy, and what it is up against.

What is not installed is left out and named.
"""

import numpy as np

from inference import files
from inference import lanes
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


class Peers:
    """Makes lanes.

    Args:
        store: `files.Files`.
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
        content = self.store.get("empty", files.write_empty)
        part = lanes.FilePart(content)
        frames = np.zeros((1, 8), "f")
        return lanes.Lane("empty file", frames, [(part, 1)], runtime="LiteRT")

    def sparse(self, stack, formats, occupancies):
        """DuSpaR by sparse operators."""
        frames, template = stacks.random_stack(stack)
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
                    content = files.change_biases(
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
        name = f"{stack.name}-{i}-{weights}-{operands}"
        data = np.zeros((1, 4, features), "f") + frames[0, 0]

        def make(path):
            self.log(f"converting {name}")
            model = files.duspar_model(features, layers)
            files.write_sparse(path, model, weights, operands, data)

        return self.store.get(name, make)

    def builtin(self, stack):
        """DuSpaR by built-in operators, which compute every product."""
        frames, template = stacks.random_stack(stack)
        layers = stacks.at_occupancy(stack, frames, template, 0.5)
        parts, first = [], 0
        for i, (features, widths, pool) in enumerate(stack.segments("DuSpaR")):
            segment = layers[first : first + len(widths)]
            first += len(widths)

            def make(path, features=features, segment=segment):
                model = files.duspar_model(features, segment)
                tflite.convert(model, path, streaming=True, ops="builtin")

            content = self.store.get(f"{stack.name}-{i}-builtin", make)
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
        frames, _ = stacks.random_stack(stack)
        parts = []
        for i, (features, widths, pool) in enumerate(stack.segments(kind)):

            def make(path, features=features, widths=widths):
                files.write_cells(path, kind, features, widths, type_)

            name = f"{stack.name}-{i}-{kind}-{type_}"
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
        frames, _ = stacks.random_stack(stack)
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
        frames, _ = stacks.random_stack(stack)
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
            for type_ in files.TYPES:
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
