"""What a model costs on given data, counted the way the paper counts."""

import collections
import itertools
from dataclasses import dataclass
from dataclasses import field

import keras
import numpy as np

from keras_duspar import checks
from keras_duspar.cells import Cost
from keras_duspar.profiling import plotting
from keras_duspar.profiling import probe
from keras_duspar.profiling import tables


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
    """

    name: str
    kind: str
    params: int
    steps_per_second: float
    cost: Cost
    nonzeros: dict
    over_time: dict = field(default_factory=dict)

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
        return tables.profile_table(self)

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


def profile(model, data, steps_per_second=None, batch_size=32, verbose=0):
    """Counts what a model multiplies when it runs on data.

    The model is run as it is; its layers carry no statistics, and neither
    its weights nor the states of stateful layers are changed.

    Args:
        model: A `keras.Model` or layer with at least one recurrent layer,
            at any depth.
        data: Input of the model: an array, a dictionary or (for a model with
            several inputs) list of arrays; or an iterable of such batches,
            like a `tf.data.Dataset`, a `keras.utils.PyDataset` or a torch
            `DataLoader`. Of tuples `(inputs, targets)` the inputs are taken.
        steps_per_second: Float, how often the first recurrent layer runs in
            a second of real time. Layers behind a pooling layer run less
            often by its stride. Default: `None`, which takes the rate of the
            model's audio front end or, without one, counts for each step.
        batch_size: Positive integer, how arrays are cut. Default: 32.
        verbose: 0 or 1, whether to show a progress bar. Default: 0.

    Returns:
        A `Profile`, with the figures of the model in `dense_macs`,
        `effective_macs`, `occupancy`, `params` and so on, those of the layers
        in `layers`, and methods `table()`, `to_dict()` and `plot()`.

    Example:

    >>> model = keras_duspar.models.keyword_spotter("duspar", 128)
    >>> audio = np.random.uniform(-1, 1, (2, 16000)).astype("float32")
    >>> profile = keras_duspar.profile(model, audio)
    >>> profile.params, profile.dense_macs
    (103715, 6424000.0)
    """
    batch_size = checks.positive_integer("batch_size", batch_size)
    profiler = Profiler(model, steps_per_second)
    return profiler.profile(list_batches(model, data, batch_size), verbose)


class Profiler:
    """Profiles one model again and again, for instance while it trains.

    Args:
        model: A `keras.Model` or layer, as in `profile()`.
        steps_per_second: Float, as in `profile()`.
    """

    def __init__(self, model, steps_per_second=None):
        if not isinstance(model, keras.layers.Layer):
            raise checks.bad_value("model", "a Keras model or layer", model)
        if steps_per_second is not None:
            steps_per_second = checks.number(
                "steps_per_second", steps_per_second, "(0, inf)"
            )
        self.model = model
        self.steps_per_second = steps_per_second
        self._counter = None

    def profile(self, batches, verbose=0):
        """Runs the model on batches of inputs and returns a `Profile`."""
        batches = iter(batches)
        first = next(batches, None)
        if first is None:
            raise checks.bad_value("data", "at least one batch", "no batch")
        if self._counter is None:
            if not self.model.built:
                # Layers that are made in build() must be there to be found.
                one = keras.tree.map_structure(lambda x: x[:1], first)
                self.model(one)
            self._counter = probe.Counter(self.model)
        taps = self._counter.taps
        tallies = {tap.name: Tally() for tap in taps}
        progress = keras.utils.Progbar(None, verbose=verbose, unit_name="batch")
        for calls in self._counter.run(itertools.chain([first], batches)):
            for name, notes in calls.items():
                for note in notes:
                    tallies[name].add(note)
            progress.add(1)
        return _summarise(self.model, taps, tallies, self.steps_per_second)


def _summarise(model, taps, tallies, steps_per_second):
    ran = {t.name: tallies[t.name] for t in taps if tallies[t.name].calls}
    first = next((t.name for t in taps if t.recurrent and t.name in ran), None)
    if first is None:
        raise ValueError(
            "`model` must have a recurrent layer, such as "
            "`keras_duspar.DuSpaR` or `keras.layers.GRU`. Received: "
            f"model={model.name!r} with none."
        )
    if not all(tally.valid for tally in ran.values()):
        raise ValueError(
            "`data` must have at least one time step that is not masked. "
            f"Received: all steps of layer {first!r} are masked."
        )
    if steps_per_second is None:
        steps_per_second = front_end_rate(model) or 1.0
    nominal = _nominal_lengths(taps, ran)

    def nominal_steps(tally):
        lengths = tally.lengths.items()
        return sum(nominal.get(n, n) * times for n, times in lengths)

    layers = [
        LayerProfile(
            name=tap.name,
            kind=type(tap.layer).__name__,
            params=tap.layer.count_params(),
            steps_per_second=steps_per_second
            * nominal_steps(ran[tap.name])
            / nominal_steps(ran[first]),
            cost=tap.cost,
            nonzeros=ran[tap.name].nonzeros(tap.cost),
            over_time=ran[tap.name].over_time(tap.cost)
            if tap.recurrent
            else {},
        )
        for tap in taps
        if tap.name in ran and tap.cost is not None
    ]
    return Profile(layers, steps_per_second, int(ran[first].valid))


class Tally:
    """The notes of one layer, added up over calls and batches."""

    def __init__(self):
        self.calls = 0
        self.valid = 0
        self.counts = 0
        self.lengths = collections.Counter()
        self.pairs = set()
        self._valid_at = np.zeros(0)
        self._counts_at = np.zeros((0, 0))

    def add(self, note):
        """Adds the note of one call."""
        valid = np.asarray(note["valid"], bool)
        valid = valid.reshape(valid.shape[0], -1)
        batch, length_in = note["length_in"].shape
        self.calls += 1
        self.valid += int(valid.sum())
        self.lengths[valid.shape[1]] += batch
        self.pairs.add((length_in, note["length_out"].shape[1]))
        if "counts" not in note:
            return
        counts = np.asarray(note["counts"], "int64") * valid[:, :, None]
        self.counts = self.counts + counts.sum(axis=(0, 1))
        steps = max(len(self._valid_at), valid.shape[1])
        self._valid_at = _grow(self._valid_at, (steps,))
        self._counts_at = _grow(self._counts_at, (steps, counts.shape[2]))
        self._valid_at[: valid.shape[1]] += valid.sum(axis=0)
        self._counts_at[: valid.shape[1]] += counts.sum(axis=0)

    def nonzeros(self, cost):
        """Mean number of entries multiplied at a step, by operand."""
        sparse = [o.name for o in cost.operands if o.sparse]
        means = {o.name: float(o.size) for o in cost.operands}
        if sparse:
            means.update(
                {n: int(c) / self.valid for n, c in zip(sparse, self.counts)}
            )
        return means

    def over_time(self, cost):
        """Occupancy at each time step, by operand."""
        steps = len(self._valid_at) or max(self.lengths)
        curves = {o.name: np.ones(steps) for o in cost.operands}
        sparse = [o for o in cost.operands if o.sparse]
        for i, operand in enumerate(sparse):
            with np.errstate(invalid="ignore"):
                curves[operand.name] = self._counts_at[:, i] / (
                    self._valid_at * operand.size
                )
        return curves


def _grow(array, shape):
    grown = np.zeros(shape)
    grown[tuple(slice(n) for n in array.shape)] = array
    return grown


def _nominal_lengths(taps, ran):
    """Lengths behind a pooling layer, with the remainder not dropped.

    Of 62 frames a pool of 4 makes 15, yet the layers behind it run 62.5 / 4
    times a second, as a stream does not end.
    """
    nominal = {}
    for tap in taps:
        if tap.stride > 1 and tap.name in ran:
            for length_in, length_out in ran[tap.name].pairs:
                length = nominal.get(length_in, length_in)
                nominal[length_out] = length / tap.stride
    return nominal


def front_end_rate(model):
    """The frame rate of the first audio layer that tells one, or `None`."""
    for layer in getattr(model, "layers", []):
        rate = getattr(layer, "steps_per_second", None) or front_end_rate(layer)
        if rate:
            return rate
    return None


def list_batches(model, data, batch_size):
    """Yields batches of inputs from any of the forms that `data` may have.

    Args:
        model: The Keras model or layer that is to take the batches.
        data: Input of the model, as in `profile()`.
        batch_size: Positive integer, how arrays are cut.

    Returns:
        A generator of batches, as NumPy arrays.
    """
    if data is None:
        raise checks.bad_value(
            "data",
            "an array or an iterable of batches",
            data,
            "What a sparse model costs depends on its input.",
        )
    if isinstance(data, tuple):
        data = data[0]
    several = len(getattr(model, "inputs", None) or [None]) > 1
    is_list_of_inputs = isinstance(data, list) and several
    if hasattr(data, "shape") or isinstance(data, dict) or is_list_of_inputs:
        yield from _cut(data, batch_size)
    else:
        for batch in _iterate(data):
            yield _checked(batch[0] if isinstance(batch, tuple) else batch)


def _iterate(data):
    if isinstance(data, keras.utils.PyDataset):
        return (data[i] for i in range(len(data)))
    if not hasattr(data, "__iter__"):
        raise checks.bad_value(
            "data", "an array or an iterable of batches", data
        )
    return iter(data)


def _cut(data, batch_size):
    size = len(keras.tree.flatten(data)[0])
    for start in range(0, size, batch_size):
        stop = start + batch_size
        yield _checked(
            keras.tree.map_structure(lambda x: x[start:stop], data)  # noqa: B023
        )


def _checked(batch):
    """A batch as NumPy arrays; NaN would count as a non-zero."""

    def check(array):
        array = keras.ops.convert_to_numpy(array)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(
                "`data` must be finite. Received a batch of shape "
                f"{array.shape} with NaN or infinite entries."
            )
        return array

    return keras.tree.map_structure(check, batch)
