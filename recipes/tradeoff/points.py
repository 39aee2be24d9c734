"""The points of the figure: means over seeds of the rows of a sweep."""

import csv
import dataclasses
import json
import pathlib
import statistics

from keras_duspar.utils.optional import optional_package
from pages import formats
from pages import run_files
from tasks import METRICS
from tasks import TASKS
from tasks import layer_title
from trainer.errors import TrainingError

NEEDED = ("task", "model", "units", "seed", "parameters", "effective_macs")


@dataclasses.dataclass(frozen=True)
class Axis:
    """A column of the results as an axis.

    Attributes:
        column: String.
        title: String, with the unit.
        factor: Float that gives that unit.
        digits: Integer, digits after the point.
    """

    column: str
    title: str
    factor: float = 1.0
    digits: int = 2

    def text(self, value):
        """A value in this unit for the reader."""
        return formats.number(value, f",.{self.digits}f")


COSTS = (
    Axis("effective_macs", "Effective M MAC/s", 1e-6, 3),
    Axis("ms_per_frame", "Measured time in ms per frame", 1.0, 4),
)


def plus_minus(mean, deviation):
    """A mean and its deviation, on one line."""
    return f"{mean}{formats.SPACE}±{formats.SPACE}{deviation}"


def score_axes(task):
    """The axes of the metrics of a task, the first of them in the figure."""
    for name in TASKS[task].metrics:
        metric = METRICS[name]
        yield Axis(
            "/".join(TASKS[task].path(name)),
            f"Test {metric.axis}",
            metric.factor,
            metric.digits,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Point:
    """Trials that differ in nothing but their seed.

    Attributes:
        model: String, the registered name of the layer.
        options: Dictionary, further arguments of the layer.
        units: Integer, the layer's width.
        rows: List of dictionaries, the rows of the results.
        budget: String, the budget they were trained for, or `None`.
    """

    model: str
    options: dict
    units: int
    rows: list
    budget: str | None = None

    def values(self, axis):
        """What the trials have on an axis; those without are left out."""
        found = [row.get(axis.column) for row in self.rows]
        return [v * axis.factor for v in found if formats.is_number(v)]

    def mean(self, axis):
        """The mean over seeds, or `None`."""
        values = self.values(axis)
        return statistics.mean(values) if values else None

    def deviation(self, axis):
        """The standard deviation over seeds, or `None` for a single one."""
        values = self.values(axis)
        return statistics.stdev(values) if len(values) > 1 else None

    def text(self, axis):
        """Mean and deviation for the reader."""
        mean, deviation = self.mean(axis), self.deviation(axis)
        # Of what does not depend on the seed, none is shown.
        if mean is None or (deviation or 0) < 0.5 * 0.1**axis.digits:
            return axis.text(mean)
        return plus_minus(axis.text(mean), axis.text(deviation))

    @property
    def parameters(self):
        """Number of parameters."""
        return self.rows[0]["parameters"]

    @property
    def name(self):
        """Such as `"Delta-GRU 96 (theta 0.02)"`."""
        name = f"{layer_title(self.model)} {self.units}{_brackets(self)}"
        return f"{name} at {self.budget}" if self.budget else name


@dataclasses.dataclass(frozen=True, eq=False)
class Curve:
    """A model at all of its widths, or at one width with several budgets.

    Attributes:
        model: String.
        options: Dictionary.
        points: List of `Point`, from narrow to wide, or from the smallest
            budget to none.
        main: Boolean, whether the figure shows it: of several options of a
            model those that come first in the results.
        units: Integer, the width of a curve of budgets, or `None`.
    """

    model: str
    options: dict
    points: list
    main: bool
    units: int | None = None

    @property
    def name(self):
        """The layer, with its options where those are not the first."""
        if self.units is not None:
            title = f"{layer_title(self.model)} {self.units}"
            return f"{title}{_brackets(self)} at budgets"
        more = "" if self.main else _brackets(self)
        return f"{layer_title(self.model)}{more}"

    @property
    def shown(self):
        """Whether the figure shows it."""
        return self.main or self.units is not None

    def place(self, cost, score):
        """The means on two axes, of the points that have both."""
        pairs = [(p.mean(cost), p.mean(score), p) for p in self.points]
        return [pair for pair in pairs if None not in pair[:2]]


def _brackets(item):
    listed = ", ".join(f"{k} {v:g}" for k, v in item.options.items())
    return f" ({listed})" if listed else ""


def read(path):
    """The finished trials of a sweep.

    Args:
        path: The sweep's folder, or its `results.csv` or `results.parquet`.

    Returns:
        A list of dictionaries, at least one, all of one task.
    """
    path = pathlib.Path(path)
    file = path / "results.csv" if path.is_dir() else path
    if not file.is_file():
        raise TrainingError(
            "`results` must be the folder of a sweep, or its table. Received: "
            f"{path}, where there is none."
        )
    if file.suffix == ".parquet":
        parquet = optional_package("pyarrow.parquet", "sweep")
        rows = parquet.read_table(file).to_pylist()
    else:
        with open(file, newline="", encoding="utf-8") as lines:
            rows = [
                {name: run_files.value(text) for name, text in row.items()}
                for row in csv.DictReader(lines)
            ]
    rows = [row for row in rows if row.get("status") == "finished"]
    if not rows:
        raise TrainingError(f"{file} has no finished trial.")
    missing = [name for name in NEEDED if rows[0].get(name) is None]
    tasks = {row.get("task") for row in rows}
    if missing or len(tasks) > 1 or not tasks <= set(TASKS):
        raise TrainingError(
            f"{file} is no table of a sweep: it lacks "
            f"{', '.join(missing) or 'one task'}."
        )
    return rows


def curves(rows):
    """The curves of the trials of one task.

    Args:
        rows: List of dictionaries, from `read()`.

    Returns:
        A list of `Curve`, in the order of the rows, then those of budgets.
    """
    groups, budgeted = {}, {}
    for row in rows:
        key = (row["model"], row.get("options") or "{}")
        units, budget = int(row["units"]), row.get("budget")
        if budget is None:
            points = groups.setdefault(key, {})
            points.setdefault(units, []).append(row)
        else:
            points = budgeted.setdefault((*key, units), {})
            points.setdefault(str(budget), []).append(row)
    found, seen = [], set()
    for (model, options), widths in groups.items():
        options = json.loads(options)
        points = [
            Point(model, options, units, rows)
            for units, rows in sorted(widths.items())
        ]
        found.append(Curve(model, options, points, model not in seen))
        seen.add(model)
    for (model, options, units), budgets in budgeted.items():
        free = groups.get((model, options), {}).get(units)
        options = json.loads(options)
        points = [
            Point(model, options, units, rows, budget)
            for budget, rows in budgets.items()
        ]
        points += [Point(model, options, units, free)] if free else []
        points.sort(key=lambda point: point.mean(COSTS[0]) or 0)
        found.append(Curve(model, options, points, False, units))
    return found
