"""How the metrics went from epoch to epoch."""

from pages import formats
from pages import plots
from tasks import METRICS
from tasks import TASKS

# Columns that have a title, a factor and digits of their own.
KNOWN = {
    "loss": ("Loss", 1, ".4g"),
    "learning_rate": ("Learning rate", 1, ".4g"),
    "seconds": ("Time per epoch in s", 1, ".1f"),
    "effective_macs": ("Effective M MAC/s", 1e-6, ",.3f"),
    "budget": ("Occupancy and its aim", 1, ".3g"),
    "budget_weight": ("Weight of the budget", 1, ".3g"),
}
# Columns in one chart, and what they are called there.
BUDGET = {"budget_occupancy": "reached", "budget_aim": "aim"}
LAST = ("occupancy", "effective_macs", "learning_rate", "seconds")


def charts(run):
    """Charts of all columns of `metrics.csv`, related ones in one.

    Args:
        run: A `run_files.Run` that has epochs.

    Returns:
        A list of `Chart`.
    """
    epochs = epoch_numbers(run)
    best = run.result.get("best_epoch")
    mark = (best, f"best: epoch {best}") if formats.is_number(best) else None
    return [
        chart(base, names, run.epochs, epochs, mark)
        for base, names in groups(run.epochs, run.task)
    ]


def epoch_numbers(run):
    """The numbers of a run's epochs, which a damaged file may not have."""
    epochs = [row.get("epoch") for row in run.epochs]
    if not all(map(formats.is_number, epochs)) or epochs != sorted(epochs):
        return list(range(1, len(run.epochs) + 1))
    return epochs


def groups(rows, task=""):
    """Columns that belong in one chart.

    A metric is drawn with its `val_` twin, unless they are different losses,
    and the occupancies of all layers together.

    Args:
        rows: List of dictionaries, one per epoch.
        task: String, the task's name. Default: `""`, not known.

    Returns:
        A list of pairs: the chart's name and the names of its columns.
    """
    apart = ()
    if task in TASKS and not TASKS[task].one_loss:
        apart = ("val_loss",)
    found = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        if name == "epoch" or not any(map(_numeric, values)):
            continue
        base = name if name in apart else name.removeprefix("val_")
        base = "budget" if name in BUDGET else base
        found.setdefault(base.split("/")[0], []).append(name)
    order = ["loss", *apart, *(b for b in found if b not in LAST), *LAST]
    return [(b, found[b]) for b in dict.fromkeys(order) if b in found]


def chart(base, names, rows, epochs, mark):
    """The chart of some columns."""
    title, factor, form = scale(base)
    series = []
    for i, name in enumerate(names):
        values = _column(rows, name, factor)
        validation = name.startswith("val_") or name == "budget_aim"
        series.append(plots.Series(_name(name, base), values, i, validation))
    if len(series) == 2 and series[0].dashed:  # the validation came first
        series.reverse()
    if len(series) == 1 and series[0].dashed:
        title = f"{title}, validation"
    return plots.line_chart(
        title, epochs, series, "epoch", _format(form), mark=mark
    )


def comparison(runs):
    """Charts of the losses and metrics of validation, one curve per run.

    Args:
        runs: List of `run_files.Run` of one task.

    Returns:
        A list of `Chart`.
    """
    longest = max((len(run.epochs) for run in runs), default=0)
    names = dict.fromkeys(n for run in runs for row in run.epochs for n in row)
    drawn = []
    for name in names:
        if name != "loss" and not name.startswith("val_"):
            continue
        base = name.removeprefix("val_")
        title, factor, form = scale(base)
        kind = "validation" if name.startswith("val_") else "training"
        series = [
            plots.Series(run.model, _column(run.epochs, name, factor), i)
            for i, run in enumerate(runs)
        ]
        if any(map(_numeric, (v for s in series for v in s.values))):
            x, title = list(range(1, longest + 1)), f"{title}, {kind}"
            chart = plots.line_chart(title, x, series, "epoch", _format(form))
            drawn.append(chart)
    return drawn


def scale(base):
    """The title of a column, the factor of its unit, and its digits."""
    if base in KNOWN:
        return KNOWN[base]
    metric = METRICS.get(base)
    if metric is not None:
        title = metric.axis[:1].upper() + metric.axis[1:]
        return title, metric.factor, f",.{metric.digits}f"
    words = base.removeprefix("val_").replace("_", " ")
    return words[:1].upper() + words[1:], 1, ".4g"


def _column(rows, name, factor):
    values = (row.get(name) for row in rows)
    return [v * factor if _numeric(v) else None for v in values]


def _format(form):
    return lambda value: formats.number(value, form)


def _numeric(value):
    return isinstance(value, (int, float))


def _name(name, base):
    if name in BUDGET:
        return BUDGET[name]
    if name.startswith("val_"):
        return "validation"
    if "/" in name:
        return name.split("/", 1)[1]
    if base in LAST:
        return "all layers" if base == "occupancy" else "value"
    return "training"
