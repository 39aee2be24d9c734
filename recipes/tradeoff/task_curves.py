"""All that figure and page show of one task."""

import dataclasses
import functools
import pathlib

import paper
from tasks import LAYERS
from tasks import TASKS
from tradeoff import points
from tradeoff import ratios

# How far from equal parameter counts may be.
TOLERANCE = 0.05
# A layer has the same color in every task.
ORDER = tuple(dict.fromkeys(("duspar", "spar", *LAYERS)))


@dataclasses.dataclass(eq=False)
class TaskCurves:
    """The curves of one task, and what is marked on them.

    Args:
        rows: List of dictionaries, from `points.read()`.
        parameters: Integer, the count at which points are stars. Default:
            `None`, that of the paper's DuSpaR.
        folder: `pathlib.Path` of the sweep. Default: that where the program
            runs.
    """

    rows: list
    parameters: int | None = None
    folder: pathlib.Path = pathlib.Path()

    def __post_init__(self):
        self.name = self.rows[0]["task"]
        self.title = TASKS[self.name].title
        self.paper_data = TASKS[self.name].paper_data
        self.data = ", ".join(
            dict.fromkeys(str(row.get("data_name")) for row in self.rows)
        )
        self.curves = points.curves(self.rows)
        self.scores = list(points.score_axes(self.name))
        if self.parameters is None:
            self.parameters = paper.find(self.name, "duspar").parameters
        self.stars = [
            point
            for curve in self.curves
            if curve.main and (point := self._star(curve)) is not None
        ]
        mains = {curve.model: curve for curve in self.curves if curve.main}
        self.paired = [mains[m] for m in ratios.PAIR if m in mains]
        if len(self.paired) < 2:
            self.paired = []

    def _star(self, curve):
        """The point of a curve nearest to the parameters, if near enough."""
        nearest = min(
            curve.points, key=lambda p: abs(p.parameters - self.parameters)
        )
        apart = abs(nearest.parameters / self.parameters - 1)
        return nearest if apart <= TOLERANCE else None

    def number(self, curve):
        """The number of a curve's color: that of its layer."""
        models = dict.fromkeys((*ORDER, *(c.model for c in self.curves)))
        return list(models).index(curve.model)

    @functools.cache  # noqa: B019  (as many as there are charts)
    def pair(self, cost, score, at=None):
        """The `Ratio` of the pair, at its best or at a point of the second."""
        if not self.paired:
            return None
        spread = ratios.spread(self.curves, cost, score)
        return ratios.ratio(*self.paired, cost, score, spread, at)

    def find(self, model, units):
        """The point of a model and width on a main curve, or `None`."""
        for curve in self.curves:
            for point in curve.points:
                if curve.main and (point.model, point.units) == (model, units):
                    return point
        return None

    @property
    def synthetic(self):
        """Whether the speech was made by a synthesizer."""
        return self.rows[0].get("data") is None

    @property
    def seeds(self):
        """The fewest and the most seeds of a point."""
        counts = [len(p.rows) for c in self.curves for p in c.points]
        return min(counts), max(counts)

    @property
    def seeds_text(self):
        """How many seeds a point has, for the reader."""
        few, many = self.seeds
        if many == 1:
            return "one seed per point"
        return f"{few if few == many else f'{few} to {many}'} seeds per point"

    @property
    def bars_text(self):
        """What the error bars are, for the reader."""
        few, many = self.seeds
        if many == 1:
            return "there are no error bars"
        where = "" if few > 1 else " where there are several"
        return f"bars are standard deviations over seeds{where}"
