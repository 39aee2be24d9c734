"""Stacks of recurrent layers, and DuSpaR at an occupancy that is asked for."""

from dataclasses import dataclass

import numpy as np

FRAMES = 64  # of the input, which comes again and again
OCCUPANCIES = (0.1, 0.28, 0.38, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Stack:
    """Sizes of layers that run one after the other.

    Args:
        name: String, what tables call it.
        features: Integer, width of the input.
        units: Tuple of integers, the widths of DuSpaR.
        pools: Tuple of integers, the time steps that are averaged behind each
            layer; 1 for none. Default: `()`, none at all.
        gru_units: Tuple of integers, the paper's widths of a GRU. Default:
            `()`, those with as many parameters.
    """

    name: str
    features: int
    units: tuple
    pools: tuple = ()
    gru_units: tuple = ()

    def widths(self, kind):
        """Widths of a kind of layer with as many parameters.

        Args:
            kind: `"DuSpaR"`, `"GRU"` or `"LSTM"`.
        """
        if kind == "DuSpaR":
            return self.units
        if kind == "GRU" and self.gru_units:
            return self.gru_units
        wanted = self.parameters("DuSpaR", self.units)
        # Multiples of 4: odd widths would be slow for no reason.
        found = min(
            range(4, 4 * max(self.units), 4),
            key=lambda w: abs(
                self.parameters(kind, [w] * len(self.units)) - wanted
            ),
        )
        return (found,) * len(self.units)

    def parameters(self, kind, widths=None):
        """Parameters of a kind of layers, with those widths."""
        total, n = 0, self.features
        for m in self.widths(kind) if widths is None else widths:
            total += {
                "DuSpaR": 4 * n * m + 2 * (n + m),
                "GRU": 3 * m * (n + m) + 6 * m,
                "LSTM": 4 * m * (n + m) + 4 * m,
            }[kind]
            n = m
        return total

    def segments(self, kind):
        """Layers between pools: triples of features, widths and the pool."""
        found, n, widths = [], self.features, []
        all_widths = self.widths(kind)
        for i, m in enumerate(all_widths):
            widths.append(m)
            last = i + 1 == len(all_widths)
            pool = 1 if last or not self.pools else self.pools[i]
            if pool > 1 or last:
                found.append((n, tuple(widths), pool))
                n, widths = m, []
        return found


STACKS = (
    Stack("KWS", 64, (128, 128), gru_units=(96, 96)),
    Stack("SLU", 64, (128, 128), pools=(4, 4), gru_units=(96, 96)),
    Stack("SE", 116, (116,) * 4, gru_units=(96,) * 4),
    Stack("64-128", 64, (128,)),
    Stack("128-128", 128, (128,)),
    Stack("116-116", 116, (116,)),
    Stack("512-512", 512, (512,)),
    Stack("1024-1024", 1024, (1024,)),
)
SMALL = (Stack("12-16", 12, (16, 16), pools=(2, 1)),)


@dataclass
class Weights:
    """What a DuSpaR layer has, and how large its operands get.

    Kernels are feedforward gate and candidate, feedback gate and candidate;
    biases are those of the two gates, of the output and of the prediction.
    """

    kernels: list
    biases: list
    ranges: tuple = (1.0, 1.0)

    def run(self, inputs):
        """Runs a sequence; returns `x - g` and `f` of every step."""
        gate, candidate, back_gate, back_candidate = self.kernels
        gate_bias, back_bias, bias, shift = self.biases
        f, g = np.zeros(gate.shape[1], "f"), np.zeros(gate.shape[0], "f")
        seen = [], []
        for x in inputs:
            seen[0].append(x - g)
            e = np.maximum(x - (g + shift), 0)
            z = 1 / (1 + np.exp(-(e @ gate + gate_bias)))
            f = f + z * (np.tanh(e @ candidate) - f)
            seen[1].append(f)
            y = np.maximum(f + bias, 0)
            z = 1 / (1 + np.exp(-(y @ back_gate + back_bias)))
            g = g + z * (np.tanh(y @ back_candidate) - g)
        return np.array(seen[0]), np.array(seen[1])


def random_weights(rng, n, m):
    """Weights that let signs change from step to step.

    Columns have no sum, so that operands that are all above zero do not push
    the states to their bounds, where they would stay.
    """
    kernels = []
    for inputs, outputs, size in ((n, m, 2.0), (m, n, 0.5)):
        for factor in (0.5, size):  # the gate, the candidate
            kernel = rng.normal(size=(inputs, outputs))
            kernel -= kernel.mean(axis=0)
            kernel *= factor / np.sqrt(inputs)
            kernels.append(kernel.astype("f"))
    gates = [np.full(m, 2.0, "f"), np.full(n, 0.0, "f")]
    # Not zeros, which the converter would merge into one constant.
    others = [rng.normal(size=m).astype("f"), rng.normal(size=n).astype("f")]
    gates = [b + 0.01 * rng.normal(size=b.shape).astype("f") for b in gates]
    return Weights(kernels, gates + others)


def random_frames(stack, rng=None):
    """Frames of noise."""
    rng = rng or np.random.default_rng(0)
    return rng.normal(size=(FRAMES, stack.features)).astype("f")


def random_layers(stack):
    """The weights of every layer of DuSpaR."""
    rng = np.random.default_rng(0)
    random_frames(stack, rng)  # other numbers than those
    widths = (stack.features, *stack.units)
    return [random_weights(rng, n, m) for n, m in zip(widths, widths[1:])]


def at_occupancy(stack, frames, layers, occupancy, repeats=7):
    """The layers with biases that make their operands so occupied.

    Every entry of every operand is above zero in that share of the time
    steps. As a bias changes what comes after it, it is looked for several
    times.

    Args:
        stack: The `Stack`.
        frames: Array of inputs.
        layers: List of `Weights`.
        occupancy: Float in (0, 1].
        repeats: Integer, how often. Default: 7.

    Returns:
        A list of `Weights` with the same kernels.
    """
    found = []
    inputs = np.concatenate(
        [frames] * 3 * (max(stack.pools) if stack.pools else 1)
    )
    for number, layer in enumerate(layers):
        skip = len(inputs) // 4
        biases = list(layer.biases)
        biases[2], biases[3] = (
            np.zeros_like(biases[2]),
            np.zeros_like(biases[3]),
        )
        layer = Weights(layer.kernels, biases)
        if occupancy == 1:  # states are within -1 and 1
            biases[2] = biases[2] + 1.1
            biases[3] = biases[3] - float(abs(inputs).max()) - 1.1
            errors, states = layer.run(inputs)
        else:
            share = 1 - occupancy
            for i in range(repeats):
                errors, states = layer.run(inputs)
                wanted = (
                    -np.quantile(states[skip:], share, axis=0),
                    np.quantile(errors[skip:], share, axis=0),
                )
                # Half of the way, or it may go to and fro.
                part = 0.5 if i else 1
                for k, bias in zip((2, 3), wanted):
                    biases[k] += (part * (bias - biases[k])).astype("f")
        outputs = states + biases[2]
        layer.ranges = (
            float((errors - biases[3]).max()),
            float(outputs.max()),
        )
        found.append(layer)
        if stack.pools and stack.pools[number] > 1:
            pool = stack.pools[number]
            length = len(outputs) // pool * pool
            outputs = outputs[:length].reshape(-1, pool, outputs.shape[1])
            outputs = outputs.mean(axis=1)
        inputs = outputs
    return found
