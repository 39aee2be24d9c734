"""What a model costs: the figures that `profile()` returns.

This is the one definition of occupancy and of the rates of MACs, also for the
counts of a `.tflite` file. It needs neither Keras nor a backend.
"""

import dataclasses
from dataclasses import dataclass
from dataclasses import field

from keras_duspar.cells.cost import Cost
from keras_duspar.profiling import plotting
from keras_duspar.profiling.profile_table import profile_table

# Figures that a layer and a model both have, in the order of `to_dict()`.
_FIGURES = (
    "params",
    "dense_macs",
    "effective_macs",
    "weight_fetches",
    "occupancy",
    "biases",
    "elementwise",
    "nonzero_macs",
)


def _ratio(part, whole):
    return part / whole if whole else float("nan")


class _Figures:
    """What is computed in the same way for a layer and for a model."""

    @property
    def weight_fetches(self):
        """Weight-matrix entries read per second: as many as MACs."""
        return self.effective_macs

    @property
    def occupancy(self):
        """Effective over dense MACs, from 0 to 1, or `nan` without any."""
        return _ratio(self.effective_macs, self.dense_macs)

    def _figures(self):
        """The figures as plain numbers, `None` in place of `nan`."""
        found = {name: getattr(self, name) for name in _FIGURES}
        return {n: None if v != v else v for n, v in found.items()}


@dataclass
class LayerProfile(_Figures):
    """The cost of one layer.

    Attributes:
        name: String, the layer's name, with those of the layers around it.
        kind: String, the name of the layer's class.
        params: Integer, number of parameters.
        steps_per_second: Float, how often the layer runs in a second.
        cost: `keras_duspar.Cost` of one step if nothing is skipped.
        nonzeros: Dictionary of operand name to the mean number of its
            entries that are multiplied at a step.
        over_time: Dictionary of operand name to an array of its occupancy at
            each time step.
        weight_density: Float, share of the entries of weight matrices that
            are not zero.
    """

    name: str
    kind: str
    params: int
    steps_per_second: float
    cost: Cost
    nonzeros: dict
    over_time: dict = field(default_factory=dict)
    weight_density: float = 1.0

    @property
    def recurrent(self):
        """Whether the layer has operands over time."""
        return bool(self.over_time)

    @property
    def occupancies(self):
        """Occupancy of each operand, from 0 to 1."""
        return {
            o.name: o.occupancy(self.nonzeros[o.name])
            for o in self.cost.operands
        }

    @property
    def dense_macs(self):
        """MACs per second with weight matrices, none skipped."""
        return self.cost.dense_macs * self.steps_per_second

    @property
    def effective_macs(self):
        """MACs per second with weight matrices, zeros skipped."""
        return self.cost.effective_macs(self.nonzeros) * self.steps_per_second

    @property
    def nonzero_macs(self):
        """Effective MACs per second whose weight is not zero either.

        An estimate: as if the zeros of operands and of weights had nothing to
        do with each other.
        """
        return self.effective_macs * self.weight_density

    @property
    def biases(self):
        """Bias entries added per second."""
        return self.cost.biases * self.steps_per_second

    @property
    def elementwise(self):
        """Element-wise products per second, such as those with gates."""
        return self.cost.elementwise * self.steps_per_second

    def to_dict(self):
        """The figures as plain numbers and strings."""
        return {
            "name": self.name,
            "kind": self.kind,
            "steps_per_second": self.steps_per_second,
            **self._figures(),
            "occupancies": self.occupancies,
            "weight_density": self.weight_density,
            "operands": [
                {
                    **dataclasses.asdict(o),
                    "nonzeros": self.nonzeros[o.name],
                    "over_time": [
                        float(v) for v in self.over_time.get(o.name, [])
                    ],
                }
                for o in self.cost.operands
            ],
        }


@dataclass
class Uncounted:
    """A layer with weight matrices whose cost is not known.

    Attributes:
        name: String, as in `LayerProfile`.
        kind: String, the name of the layer's class.
        params: Integer, number of parameters.
    """

    name: str
    kind: str
    params: int


def _total(figure):
    """A property of a model: the sum of what its layers have."""
    return property(
        lambda self: sum(getattr(layer, figure) for layer in self.layers),
        doc=getattr(LayerProfile, figure).__doc__,
    )


@dataclass
class Profile(_Figures):
    """The cost of a model, made by `keras_duspar.profile()`.

    All rates are per second, for one stream. MACs are those with entries of
    weight matrices; biases and element-wise products are counted apart.

    Attributes:
        layers: List of `LayerProfile`, in the order in which they run.
        steps_per_second: Float, rate of the first recurrent layer.
        steps: Integer, number of time steps of the first recurrent layer that
            were counted; masked ones are not.
        uncounted: List of `Uncounted`, the layers whose cost is not known.
            Only their parameters are included in the sums.
    """

    layers: list
    steps_per_second: float
    steps: int
    uncounted: list = field(default_factory=list)

    dense_macs = _total("dense_macs")
    effective_macs = _total("effective_macs")
    nonzero_macs = _total("nonzero_macs")
    biases = _total("biases")
    elementwise = _total("elementwise")

    @property
    def params(self):
        """Number of parameters of the layers in the table."""
        return sum(x.params for x in [*self.layers, *self.uncounted])

    @property
    def weight_density(self):
        """Share of the effective MACs whose weight is not zero."""
        return _ratio(self.nonzero_macs, self.effective_macs)

    def __str__(self):
        return profile_table(self)

    def table(self, print_fn=print):
        """Prints the figures of all layers, and their sums, as a table.

        Args:
            print_fn: Callable that takes the table as a string. Default:
                `print`.
        """
        print_fn(str(self))

    def to_dict(self):
        """The figures as a dictionary that `json.dump()` can write."""
        return {
            "steps_per_second": self.steps_per_second,
            "steps": self.steps,
            **self._figures(),
            "layers": [layer.to_dict() for layer in self.layers],
            "uncounted": [dataclasses.asdict(x) for x in self.uncounted],
        }

    def plot(self, path=None):
        """Draws the occupancy of every recurrent layer over time.

        Args:
            path: Optional string, the file to write the picture to.

        Returns:
            A `matplotlib.figure.Figure`.
        """
        return plotting.plot_profile(self, path)
