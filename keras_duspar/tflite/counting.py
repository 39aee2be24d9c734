"""What a running file has counted, as occupancy and as a profile."""

import numpy as np

from keras_duspar import native
from keras_duspar.profiling.report import Profile
from keras_duspar.tflite import description

OUTPUT = "counts"  # the output of a file that counts for itself


class Counting:
    """The counters of a file: those of the delegate, or an output's.

    Args:
        about: Dictionary, the file's description.
        handle: String, the delegate's handle, or `None` without one.

    Attributes:
        output: String, name of the output to add up, or `None`.
    """

    def __init__(self, about, handle):
        self._about, self._handle = about, handle
        self._names = about.get("counters", [])
        self.output = OUTPUT if self._names else None
        self._totals = np.zeros(len(self._names), "int64")
        self._runs = 0

    def add(self, batch_size, counts=None):
        """Adds one run, and what the file itself has counted."""
        self._runs += batch_size
        if counts is not None:
            self._totals += counts

    def reset(self):
        """Sets all counters to zero."""
        self._totals[:] = 0
        self._runs = 0
        if self._handle is not None:
            native.reset(self._handle)

    def counters(self):
        """Dictionary of layer name to counter name to number."""
        found = {}
        for (layer, counter), total in zip(self._names, self._totals):
            found.setdefault(layer, {})[counter] = int(total)
        if self._handle is not None:
            # A layer that is called twice has two operators.
            for operator in native.operators(self._handle):
                counts = found.setdefault(operator.layer, {})
                counts["steps"] = counts.get("steps", 0) + operator.steps
                for operand in operator.operands:
                    old = counts.get(operand.name, 0)
                    counts[operand.name] = old + operand.nonzeros
        return found

    def occupancy(self):
        """As `Runner.occupancy()`."""
        counted = self.counters()
        found = {}
        for layer in self._about.get("layers", []):
            counts = counted.get(layer["name"], {})
            if counts.get("steps"):
                nonzeros = _nonzeros(layer, counts)
                profile = description.layer_profile(layer, 1.0, nonzeros)
                found[profile.name] = profile.occupancies
        return found

    def profile(self, path, steps_per_second=None):
        """As `Runner.profile()`."""
        layers = self._about.get("layers", [])
        if not layers:
            raise ValueError(
                f"`profile()` needs a file that tells its costs. {path!r} has "
                "no description of recurrent layers."
            )
        counted = self.counters()
        first = next(layer for layer in layers if layer["recurrent"])
        steps = counted.get(first["name"], {}).get("steps", 0)
        usual = first["steps_per_second"]
        rate = usual if steps_per_second is None else steps_per_second
        profiles = []
        for layer in layers:
            counts = counted.get(layer["name"], {})
            share = layer["steps_per_second"] / usual
            if layer.get("runs") is not None and steps:
                share = layer["runs"] * self._runs / steps
            _check_counted(path, layer, counts)
            nonzeros = _nonzeros(layer, counts)
            found = description.layer_profile(layer, rate * share, nonzeros)
            profiles.append(found)
        return Profile(profiles, rate, steps)


def _nonzeros(layer, counts):
    """Mean entries of each operand that are multiplied at a time step."""
    return {
        o["name"]: counts[o["name"]] / counts["steps"]
        if o["sparse"]
        else float(o["size"])
        for o in layer["operands"]
    }


def _check_counted(path, layer, counts):
    for operand in layer["operands"]:
        if not operand["sparse"]:
            continue
        if operand["name"] not in counts:
            raise ValueError(
                f"{path!r} does not count the operand {operand['name']!r} of "
                f"its layer {layer['name']!r}. Convert with `count=True`."
            )
        if not counts["steps"]:
            raise ValueError(
                f"Layer {layer['name']!r} of {path!r} has not run since its "
                "counters were reset: there is nothing to tell."
            )
