"""Float and quantised models of a run side by side."""

from training.report import figures
from training.report.markup import section
from training.report.markup import table
from training.report.markup import tag
from training.report.run import as_dict
from training.report.run import test_metrics


def quantization(run):
    """The models before and after quantisation, in Keras and as files."""
    rows = run.result.get("quantization")
    rows = [row for row in rows if isinstance(row, dict)] if rows else []
    if not rows:
        return None
    names = [name for name, _, _ in run.metrics()]
    columns = ["model"]
    for name in names:
        title = figures.METRICS[name]
        columns += [f"{title}, Keras", f"{title}, .tflite"]
    columns += ["occupancy, Keras", "occupancy, .tflite", "KB", "smaller"]
    largest = max(_number(row.get("bytes")) for row in rows)
    return section(
        "Quantisation",
        tag(
            "p",
            "The same test, run by Keras and by the LiteRT interpreter on the "
            "converted file (whole recordings, sparse operators). “After "
            "training” is the float model, rounded; “trained” went on with "
            "rounded numbers for the last epochs.",
        ),
        table(columns, [_row(row, run.task, names, largest) for row in rows]),
    )


def _row(row, task, names, largest):
    cells = [str(row.get("name") or figures.NONE)]
    parts = [
        {
            name: value
            for name, value, _ in test_metrics(as_dict(row.get(part)), task)
        }
        for part in ("test", "tflite_test")
    ]
    for name in names:
        cells += [figures.metric(name, part.get(name)) for part in parts]
    for part in ("occupancy", "tflite_occupancy"):
        cells.append(figures.percent(row.get(part), digits=2))
    size = _number(row.get("bytes"))
    cells.append(figures.number(size / 1000, ".0f") if size else figures.NONE)
    cells.append(
        figures.number(largest / size, ".2f", "times") if size else figures.NONE
    )
    return cells


def _number(value):
    return value if figures.is_number(value) else 0
