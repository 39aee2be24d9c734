"""The paper's results, to print beside our own.

Rates are in MACs per second, occupancy, accuracy and STOI from 0 to 1: the
units of `result.json`.
"""

import dataclasses

import yaml_tables
from tasks import METRICS
from tasks import TASKS


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the paper's tables.

    Attributes:
        task: String, `"kws"`, `"slu"` or `"se"`.
        layer: String, the registered name of the recurrent layer.
        units: Integer, the layer's width.
        parameters: Float, as printed: rounded to hundreds.
        dense_macs: Float, MACs per second if none is skipped.
        effective_macs: Float, MACs per second without those by zero.
        occupancy: Float, effective over dense MACs.
        metrics: Dictionary of metric to its value on the test set.
        deviations: Dictionary of metric to its standard deviation over five
            runs.
    """

    task: str
    layer: str
    units: int
    parameters: float
    dense_macs: float
    effective_macs: float
    occupancy: float
    metrics: dict
    deviations: dict


def _row(task, layer, units, thousands, dense, effective, percent, *values):
    metrics, deviations = (
        {
            name: round(value / METRICS[name].factor, 4)
            for name, value in zip(TASKS[task].metrics, part)
        }
        for part in (values[::2], values[1::2])
    )
    return Row(
        task,
        layer,
        units,
        round(1e3 * thousands),
        round(1e6 * dense),
        round(1e6 * effective),
        round(percent / 100, 4),
        metrics,
        deviations,
    )


ROWS = tuple(
    _row(task, layer, *numbers)
    for task, layers in yaml_tables.beside(__file__).items()
    for layer, numbers in layers.items()
)


def find(task, layer):
    """The paper's row of a layer on a task, or `None` if it has none.

    Args:
        task: String, `"kws"`, `"slu"` or `"se"`.
        layer: String, the registered name of the recurrent layer.
    """
    for row in ROWS:
        if (row.task, row.layer) == (task, layer):
            return row
    return None
