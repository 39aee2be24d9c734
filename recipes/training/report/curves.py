"""How the metrics went from epoch to epoch."""

from training.report import charts
from training.report import figures
from training.report.charts import Series
from training.report.markup import section
from training.report.markup import tag

# Columns that get a title and a unit of their own: title, what values are
# multiplied by, and how they are written.
KNOWN = {
    "loss": ("Loss", 1, figures.number),
    "learning_rate": ("Learning rate", 1, figures.number),
    "seconds": ("Time of an epoch in s", 1, lambda v: figures.number(v, ".1f")),
    "effective_macs": (
        "Effective products in M MAC/s",
        1e-6,
        lambda v: figures.number(v, ",.3f"),
    ),
    "occupancy": ("Occupancy in %", 100, lambda v: figures.number(v, ".1f")),
    "stoi": ("STOI in %", 100, lambda v: figures.number(v, ".2f")),
}
LAST = ("occupancy", "effective_macs", "learning_rate", "seconds")


def training(run):
    """Charts of all columns of `metrics.csv`, related ones in one."""
    if not run.epochs:
        return section(
            "Training", tag("p", "No epoch has been completed, or logged.")
        )
    epochs = [row.get("epoch") for row in run.epochs]
    if not all(map(figures.is_number, epochs)) or epochs != sorted(epochs):
        epochs = list(range(1, len(run.epochs) + 1))
    best = run.result.get("best_epoch")
    mark = (best, f"best: epoch {best}") if figures.is_number(best) else None
    drawn = [
        chart(base, names, run.epochs, epochs, mark)
        for base, names in groups(run.epochs)
    ]
    note = "The dashed vertical line marks the epoch whose weights were kept."
    return section(
        "Training",
        tag("p", note) if mark else None,
        tag("div", drawn, class_="charts"),
    )


def groups(rows):
    """Columns that belong into one chart.

    A metric is drawn with its `val_` twin, and the occupancies of all layers
    together.

    Returns:
        A list of pairs: the chart's name and the names of its columns.
    """
    found = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        if name == "epoch" or not any(
            isinstance(value, (int, float)) for value in values
        ):
            continue
        base = name.removeprefix("val_").split("/")[0]
        found.setdefault(base, []).append(name)
    order = ["loss", *(b for b in found if b not in LAST), *LAST]
    return [(b, found[b]) for b in dict.fromkeys(order) if b in found]


def chart(base, names, rows, epochs, mark):
    """The chart of some columns."""
    title, factor, form = KNOWN.get(base, (_title(base), 1, figures.number))
    if base.endswith("accuracy"):
        title, factor = f"{_title(base)} in %", 100
        form = lambda v: figures.number(v, ".2f")  # noqa: E731
    series = []
    for i, name in enumerate(names):
        values = [row.get(name) for row in rows]
        values = [v * factor if _numeric(v) else None for v in values]
        validation = name.startswith("val_")
        series.append(Series(_name(name, base), values, i, validation))
    if len(series) == 2 and series[0].dashed:  # the validation came first
        series.reverse()
    if len(series) == 1 and series[0].dashed:
        title = f"{title}, validation"
    return charts.line_chart(title, epochs, series, "epoch", form, mark=mark)


def _numeric(value):
    return isinstance(value, (int, float))


def _title(base):
    words = figures.METRICS.get(base, base).replace("_", " ")
    unit = " in dB" if base.startswith(("si_sdr", "si_snr")) else ""
    return words[:1].upper() + words[1:] + unit


def _name(name, base):
    if name == f"val_{base}":
        return "validation"
    if "/" in name:
        return name.split("/", 1)[1]
    if base in LAST:
        return "all layers" if base == "occupancy" else "value"
    return "training"
