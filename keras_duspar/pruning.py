"""Pruning kernels: which weights become zero, and how many are left."""

import math

import numpy as np
from keras import ops

from keras_duspar.utils import checks


class Ramp:
    """A share of zeros that grows to a target, quickly at first.

    Args:
        target: Float in `(0, 1)`, the share at the end.
        begin_step: Integer, the first step at which to prune.
        end_step: Positive integer, the step at which the target is reached.
        frequency: Positive integer, steps between two prunings.
    """

    def __init__(self, target, begin_step, end_step, frequency):
        self.target = checks.number("schedule", target, "(0, 1)")
        self.begin = int(checks.number("begin_step", begin_step, "[0, inf)"))
        self.end = checks.positive_integer("end_step", end_step)
        self.frequency = checks.positive_integer("frequency", frequency)
        if self.end <= self.begin:
            raise checks.bad_value(
                "end_step", f"above `begin_step`, {self.begin}", end_step
            )

    def __call__(self, step):
        """Whether to prune at a step, and the share of zeros."""
        left = (self.end - step) / (self.end - self.begin)
        share = self.target * (1 - min(max(left, 0), 1) ** 3)
        last = step == self.end
        in_turn = self.begin <= step < self.end
        return last or (
            in_turn and (step - self.begin) % self.frequency == 0
        ), share


def kernels(layer):
    """The weight matrices of a layer, by their names."""
    return [
        weight
        for weight in layer.weights
        if weight.name.endswith("kernel") and len(weight.shape) > 1
    ]


def kernel_groups(model):
    """Lists of kernels that are multiplied with the same vector."""
    groups = {}
    for layer in model.layers:
        for kernel in kernels(layer):
            # The cell of the kernel, and which of its vectors.
            owner = kernel.path.rsplit("/", 1)[0]
            recurrent = kernel.name.startswith("recurrent")
            groups.setdefault((owner, recurrent), []).append(kernel)
    return list(groups.values())


def masks(group, sparsity, rows):
    """Ones where weights are kept and zeros where they are pruned.

    Args:
        group: List of kernels that are multiplied with the same vector.
        sparsity: Float, the share of zeros.
        rows: Boolean, whether whole rows go, the same in all of them.

    Returns:
        Dictionary of the `id()` of a kernel to the kernel and its mask.
    """
    values = [np.abs(ops.convert_to_numpy(kernel)) for kernel in group]
    if rows:
        joined = np.concatenate([v.reshape(len(v), -1) for v in values], axis=1)
        kept = _largest(np.linalg.norm(joined, axis=1), sparsity)
        found = [
            np.broadcast_to(kept.reshape(-1, *[1] * (v.ndim - 1)), v.shape)
            for v in values
        ]
    else:
        found = [_largest(v, sparsity) for v in values]
    return {
        id(kernel): (kernel, mask.astype("float32"))
        for kernel, mask in zip(group, found)
    }


def _largest(values, sparsity):
    """Where values are kept: all but the smallest."""
    gone = round(sparsity * values.size)
    order = np.argsort(values, axis=None, kind="stable")
    kept = np.ones(values.size, bool)
    kept[order[:gone]] = False
    return kept.reshape(values.shape)


def weight_density(layers):
    """Share of the entries of the layers' kernels that are not zero."""
    total = nonzero = 0
    for layer in layers:
        for kernel in kernels(layer):
            total += math.prod(kernel.shape)
            nonzero += int(np.count_nonzero(ops.convert_to_numpy(kernel)))
    return nonzero / total if total else 1.0
