"""What a model costs on given data, counted the way the paper counts."""

import collections
import itertools
import math

import keras
import numpy as np

from keras_duspar.layers.walking import quantized_layers
from keras_duspar.profiling import probe
from keras_duspar.profiling.report import LayerProfile
from keras_duspar.profiling.report import Profile
from keras_duspar.pruning import weight_density
from keras_duspar.utils import checks
from keras_duspar.utils.batches import list_batches
from keras_duspar.utils.nesting import all_layers


def profile(model, data, steps_per_second=None, batch_size=32, verbose=0):
    """Counts the MACs of a model when it runs on data.

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
            model's audio front end or, without one, counts per time step.
        batch_size: Positive integer, how arrays are cut. Default: 32.
        verbose: 0 or 1, whether to show a progress bar. Default: 0.

    Returns:
        A `Profile`, with the figures of the model in `dense_macs`,
        `effective_macs`, `occupancy`, `params` and so on, those of the layers
        in `layers`, and methods `table()`, `to_dict()` and `plot()`. Layers
        whose cost is not known are in `uncounted`, with a warning.

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
    """Profiles one model repeatedly, for instance while it trains.

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
        tallies = {tap.name: Tally() for tap in self._counter.taps}
        progress = keras.utils.Progbar(None, verbose=verbose, unit_name="batch")
        for calls in self._counter.run(itertools.chain([first], batches)):
            for name, notes in calls.items():
                for note in notes:
                    tallies[name].add(note)
            progress.add(1)
        taps = sorted(self._counter.taps, key=lambda tap: tap.position)
        return _summarize(
            self.model,
            taps,
            tallies,
            self.steps_per_second,
            self._counter.uncounted,
        )


def dense_profile(model, length, steps_per_second=None):
    """The profile of a model on data without any zeros, which is not run.

    Args:
        model: A built `keras.Model` or layer, as in `profile()`.
        length: Integer, what stands for sizes of inputs that are open.
        steps_per_second: Float, as in `profile()`.

    Returns:
        A `Profile`.
    """
    taps, uncounted = probe.find_taps(model)
    inputs = keras.tree.map_structure(
        lambda x: keras.KerasTensor(
            (1, *(length if n is None else n for n in x.shape[1:])), x.dtype
        ),
        _inputs(model),
    )
    tallies = {tap.name: Tally() for tap in taps}
    for key, note in probe.Probe(model, taps)(inputs).items():
        name = key.rsplit(":", 1)[0]
        note = {k: np.ones(v.shape, "int64") for k, v in note.items()}
        if "counts" in note:
            cost = next(tap.cost for tap in taps if tap.name == name)
            note["counts"] *= [o.size for o in cost.operands if o.sparse]
        tallies[name].add(note)
    taps.sort(key=lambda tap: tap.position)
    return _summarize(model, taps, tallies, steps_per_second, uncounted)


def _inputs(model):
    """The symbolic inputs of a model, in its own structure."""
    if isinstance(model, keras.Sequential):
        return model.inputs[0]
    if hasattr(model, "inputs"):
        return model.input
    shape = (model.get_build_config() or {}).get("input_shape")
    if shape is None:
        raise ValueError(
            "`model` must be a functional or Sequential model, or one that "
            f"was built with the shape of one input. Received: {model.name!r}."
        )
    return keras.KerasTensor(shape)


def _summarize(model, taps, tallies, steps_per_second, uncounted):
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
        return sum(
            nominal.get(length, length) * places * times
            for (length, places), times in tally.lengths.items()
        )

    layers = [
        LayerProfile(
            name=tap.name,
            kind=type(tap.layer).__name__,
            params=_count_params(tap.layer),
            steps_per_second=steps_per_second
            * nominal_steps(ran[tap.name])
            / nominal_steps(ran[first]),
            cost=tap.cost,
            nonzeros=ran[tap.name].nonzeros(tap.cost),
            over_time=ran[tap.name].over_time(tap.cost)
            if tap.recurrent
            else {},
            weight_density=weight_density([tap.layer]),
        )
        for tap in taps
        if tap.name in ran and tap.cost is not None
    ]
    return Profile(layers, steps_per_second, int(ran[first].valid), uncounted)


def _count_params(layer):
    """The layer's parameters, without the ranges of its quantizers."""
    ranges = sum(
        found.quantizer.count_params()
        for found in quantized_layers(layer).values()
    )
    return layer.count_params() - ranges


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
        # Time steps and, as in images, the places of each.
        length = valid.shape[1] if valid.ndim > 1 else 1
        places = math.prod(valid.shape[2:])
        valid = valid.reshape(valid.shape[0], -1)
        self.calls += 1
        self.valid += int(valid.sum())
        self.lengths[length, places] += len(valid)
        if "length_in" in note:
            lengths = (note["length_in"], note["length_out"])
            self.pairs.add(tuple(array.shape[1] for array in lengths))
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
        steps = len(self._valid_at) or max(n for n, _ in self.lengths)
        curves = {o.name: np.ones(steps) for o in cost.operands}
        sparse = [o for o in cost.operands if o.sparse]
        for i, operand in enumerate(sparse):
            with np.errstate(invalid="ignore"):
                curves[operand.name] = operand.occupancy(
                    self._counts_at[:, i], self._valid_at
                )
        return curves


def _grow(array, shape):
    grown = np.zeros(shape)
    grown[tuple(slice(n) for n in array.shape)] = array
    return grown


def _nominal_lengths(taps, ran):
    """Lengths after layers that shorten a sequence, as if no end were dropped.

    A pool of 4 turns 62 frames into 15, yet the layers after it run 62.5 / 4
    times per second, as a stream does not end.
    """
    nominal = {}
    for tap in taps:
        if tap.name not in ran:
            continue
        for length_in, length_out in ran[tap.name].pairs:
            if length_out != length_in:
                length = nominal.get(length_in, length_in)
                nominal[length_out] = length / tap.stride
    return nominal


def front_end_rate(model):
    """The frame rate of the first audio layer that tells one, or `None`."""
    rates = (getattr(x, "steps_per_second", None) for x in all_layers(model))
    return next(filter(None, rates), None)
