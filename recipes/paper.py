"""The paper's results, to print beside our own.

Rates are in MACs per second, occupancy, accuracy and STOI from 0 to 1: the
units of `result.json`.
"""

import dataclasses

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


# As printed: task, layer, width, parameters in thousands, dense and effective
# M MAC/s, occupancy in percent; then the accuracy in percent, or PESQ-WB, STOI
# in percent and SI-SDR in dB, each with its deviation over five runs.
ROWS = tuple(
    _row(*line)
    for line in (
        ("kws", "gru", 96, 105.9, 6.55, 6.55, 100.0, 93.10, 0.10),
        ("kws", "delta_gru", 96, 105.9, 6.55, 3.21, 49.0, 93.12, 0.14),
        ("kws", "dynamic_gru", 96, 105.9, 6.55, 4.43, 67.7, 91.68, 0.25),
        ("kws", "duspar", 128, 103.7, 6.42, 3.21, 50.0, 93.72, 0.06),
        ("slu", "gru", 96, 105.6, 3.74, 3.74, 100.0, 92.92, 0.77),
        ("slu", "delta_gru", 96, 105.6, 3.74, 2.02, 53.8, 93.03, 0.48),
        ("slu", "dynamic_gru", 96, 105.6, 3.74, 2.50, 66.8, 92.00, 0.54),
        ("slu", "duspar", 128, 103.3, 3.08, 1.18, 38.3, 93.12, 0.43),
        ("se", "gru", 96, 239.5, 236.78, 236.78, 100.0)
        + (2.92, 0.02, 94.02, 0.05, 18.43, 0.05),
        ("se", "delta_gru", 96, 239.5, 236.78, 105.58, 44.6)
        + (2.86, 0.01, 93.76, 0.02, 18.34, 0.05),
        ("se", "dynamic_gru", 96, 239.5, 236.78, 162.98, 68.8)
        + (2.90, 0.01, 93.91, 0.09, 18.31, 0.06),
        ("se", "duspar", 116, 238.8, 236.41, 118.04, 49.9)
        + (2.92, 0.01, 93.82, 0.13, 18.34, 0.03),
    )
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
