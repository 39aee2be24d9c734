"""What a model costs: the figures that `profile()` returns."""

from dataclasses import dataclass
from dataclasses import field

from keras_duspar.cells import Cost
from keras_duspar.profiling import plotting
from keras_duspar.profiling.profile_table import profile_table


@dataclass
class LayerProfile:
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
            o.name: self.nonzeros[o.name] / o.size for o in self.cost.operands
        }

    @property
    def dense_macs(self):
        """Products with weight-matrix entries a second, none skipped."""
        return self.cost.dense_macs * self.steps_per_second

    @property
    def effective_macs(self):
        """Products with weight-matrix entries a second, zeros skipped."""
        per_step = sum(
            self.nonzeros[o.name] * o.fan for o in self.cost.operands
        )
        return per_step * self.steps_per_second

    @property
    def nonzero_macs(self):
        """Effective products a second whose weight is not zero either.

        An estimate: as if the zeros of operands and of weights had nothing to
        do with each other.
        """
        return self.effective_macs * self.weight_density

    @property
    def weight_fetches(self):
        """Weight-matrix entries read a second: as many as products."""
        return self.effective_macs

    @property
    def biases(self):
        """Bias entries added a second."""
        return self.cost.biases * self.steps_per_second

    @property
    def elementwise(self):
        """Element-wise products a second, such as those with gates."""
        return self.cost.elementwise * self.steps_per_second

    @property
    def occupancy(self):
        """Effective over dense products, or `nan` without any."""
        if not self.dense_macs:
            return float("nan")
        return self.effective_macs / self.dense_macs

    def to_dict(self):
        """The figures as plain numbers and strings."""
        return {
            "name": self.name,
            "kind": self.kind,
            "params": self.params,
            "steps_per_second": self.steps_per_second,
            "dense_macs": self.dense_macs,
            "effective_macs": self.effective_macs,
            "weight_fetches": self.weight_fetches,
            "occupancy": self.occupancy if self.dense_macs else None,
            "occupancies": self.occupancies,
            "biases": self.biases,
            "elementwise": self.elementwise,
            "weight_density": self.weight_density,
            "nonzero_macs": self.nonzero_macs,
            "operands": [
                {
                    "name": o.name,
                    "size": o.size,
                    "fan": o.fan,
                    "sparse": o.sparse,
                    "nonzeros": self.nonzeros[o.name],
                    "over_time": [
                        float(v) for v in self.over_time.get(o.name, [])
                    ],
                }
                for o in self.cost.operands
            ],
        }


@dataclass
class Profile:
    """The cost of a model, made by `keras_duspar.profile()`.

    All rates are per second, for one stream. Products are those with entries
    of weight matrices; biases and element-wise products are counted apart.

    Attributes:
        layers: List of `LayerProfile`, in the order in which they run.
        steps_per_second: Float, rate of the first recurrent layer.
        steps: Integer, number of time steps of the first recurrent layer that
            were counted; masked ones are not.
    """

    layers: list
    steps_per_second: float
    steps: int

    def _total(self, figure):
        return sum(getattr(layer, figure) for layer in self.layers)

    @property
    def params(self):
        """Number of parameters of the layers in the table."""
        return self._total("params")

    @property
    def dense_macs(self):
        """Products with weight-matrix entries a second, none skipped."""
        return self._total("dense_macs")

    @property
    def effective_macs(self):
        """Products with weight-matrix entries a second, zeros skipped."""
        return self._total("effective_macs")

    @property
    def nonzero_macs(self):
        """Effective products a second whose weight is not zero either."""
        return self._total("nonzero_macs")

    @property
    def weight_density(self):
        """Share of the effective products whose weight is not zero."""
        return self.nonzero_macs / self.effective_macs

    @property
    def weight_fetches(self):
        """Weight-matrix entries read a second."""
        return self._total("weight_fetches")

    @property
    def biases(self):
        """Bias entries added a second."""
        return self._total("biases")

    @property
    def elementwise(self):
        """Element-wise products a second."""
        return self._total("elementwise")

    @property
    def occupancy(self):
        """Effective over dense products, from 0 to 1."""
        return self.effective_macs / self.dense_macs

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
            "params": self.params,
            "dense_macs": self.dense_macs,
            "effective_macs": self.effective_macs,
            "weight_fetches": self.weight_fetches,
            "occupancy": self.occupancy,
            "biases": self.biases,
            "elementwise": self.elementwise,
            "nonzero_macs": self.nonzero_macs,
            "layers": [layer.to_dict() for layer in self.layers],
        }

    def plot(self, path=None):
        """Draws the occupancy of every recurrent layer over time.

        Args:
            path: Optional string, the file to write the picture to.

        Returns:
            A `matplotlib.figure.Figure`.
        """
        return plotting.plot_profile(self, path)
