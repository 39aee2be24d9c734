"""The page of a training run, `report.html`."""

import paper
from pages import confusion_matrix
from pages import formats
from pages import plots
from pages import rendering
from pages import run_files
from pages import spectrograms
from pages import training_curves
from pages.run_files import as_dict
from tasks import METRICS
from tasks import TASKS
from tasks import layer_title


def write(folder, rows=None):
    """Writes `report.html`, the page of a training run, into its folder.

    Files that are missing or damaged are named on the page: a run that was
    stopped has a report, too.

    Args:
        folder: The folder of the run, with those of `config.json`,
            `environment.json`, `metrics.csv`, `profile.json`, `result.json`,
            `confusion.csv` and `examples/examples.json` that there are.
        rows: Optional list of dictionaries, one per epoch, in place of
            `metrics.csv`.

    Returns:
        The `pathlib.Path` of the page.
    """
    run = run_files.read(folder, rows)
    layers = run.profile.get("layers") or []
    recurrent = [
        layer
        for layer in layers
        if any(o.get("over_time") for o in layer["operands"])
    ]
    time_charts, mean_of = over_time(recurrent)
    return rendering.save(
        run.folder / "report.html",
        "run.html",
        run=run,
        title=f"{run.model}, {run.task or 'training run'}",
        heading=f"{run.title or 'Training run'}: {run.model}",
        facts=facts(run),
        worse=worse(run),
        tiles=list(tiles(run)),
        paper=against_paper(run),
        charts=training_curves.charts(run) if run.epochs else [],
        confusion=confusion(run),
        examples=spectrograms.examples(run),
        gradient=spectrograms.gradient() if run.examples else None,
        range_db=spectrograms.RANGE_DB,
        cost=cost_rows(run.profile, layers),
        occupancies=occupancies(recurrent),
        time_charts=time_charts,
        mean_of=mean_of,
        quantized=quantized(run),
        epochs=epoch_table(run),
    )


def facts(run):
    """What the run is, in a few words each."""
    epochs, planned = len(run.epochs), run.config.get("epochs")
    found = [
        f"data: {run.data or 'not known'}",
        f"{epochs} of {planned} epochs" if planned else f"{epochs} epochs",
    ]
    for name in ("preset", "seed", "backend"):
        if run.config.get(name) is not None:
            found.append(f"{name} {run.config[name]}")
    if formats.is_number(run.result.get("seconds")):
        found.append(formats.duration(run.result["seconds"]))
    count = as_dict(run.result.get("test")).get("count")
    if formats.is_number(count):
        found.append(f"{formats.count(count)} test recordings")
    return found


def worse(run):
    """Titles of the metrics in which enhanced speech is below the noisy."""
    return [
        METRICS[name].title
        for name, value, noisy in run.metrics()
        if formats.is_number(value)
        and formats.is_number(noisy)
        and value < noisy
    ]


def tiles(run):
    """Yields the headline numbers: name, value and a note."""
    test = as_dict(run.result.get("test"))
    for name, value, noisy in run.metrics():
        note = "" if test else "not tested"
        if formats.is_number(noisy):
            note = f"noisy input: {formats.metric(name, noisy)}"
        title = f"Test {METRICS[name].title}"
        yield title, formats.metric(name, value), note
    if not test and run.epochs:
        for name, value in run.epochs[-1].items():
            if name.startswith("val_") and formats.is_number(value):
                base = name.removeprefix("val_")
                title = METRICS[base].title if base in METRICS else base
                text = formats.metric(name, value)
                yield f"Validation {title}", text, "after the last epoch"
    if formats.is_number(test.get("failed")) and test["failed"]:
        failed = formats.count(test["failed"])
        yield "Scores without a value", failed, "left out"
    dense = formats.metric("dense_macs", run.figure("dense_macs"))
    for name, note in (
        ("parameters", ""),
        ("occupancy", "effective over dense"),
        ("effective_macs", f"dense: {dense}"),
    ):
        value = run.figure(name)
        if formats.is_number(value):
            yield METRICS[name].heading, formats.metric(name, value), note


def against_paper(run):
    """This run beside the paper's figures: headings and rows."""
    if run.task not in TASKS:
        return None
    task = TASKS[run.task]
    layer = run.config.get("model")
    same = paper.find(run.task, layer)
    names = [layer] if same else []
    names += [n for n in ("duspar", "gru") if n != layer]
    printed = [paper.find(run.task, name) for name in names[:2]]
    columns = ["", "this run"]
    columns += [
        f"the paper: {layer_title(row.layer)} {row.units}" for row in printed
    ]
    rows = [["data", run.data or formats.NONE]]
    rows[0] += [task.paper_data] * len(printed)
    # The paper's with the digits that it prints.
    for name, value, noisy in run.metrics():
        title = f"test {METRICS[name].title}"
        texts = [formats.metric(name, row.metrics[name], 2) for row in printed]
        if task.noisy:
            before = formats.metric(name, task.noisy[name], 2)
            rows.append(
                [f"{title}, noisy input", formats.metric(name, noisy)]
                + [before] * len(printed)
            )
        rows.append([title, formats.metric(name, value), *texts])
    for title, name, ours, theirs in (
        ("parameters", "parameters", formats.count, formats.thousands),
        ("dense, M MAC/s", "dense_macs", formats.millions, _hundredths),
        ("effective, M MAC/s", "effective_macs", formats.millions, _hundredths),
        ("occupancy", "occupancy", formats.percent, formats.percent),
    ):
        rows.append(
            [title, ours(run.figure(name))]
            + [theirs(getattr(row, name)) for row in printed]
        )
    return {"task": task, "same": same, "columns": columns, "rows": rows}


def confusion(run):
    """The picture and the tables of `confusion.csv`."""
    if run.confusion is None:
        return None
    found = [run.confusion[name] for name in ("true", "predicted", "counts")]
    return {
        "matrix": confusion_matrix.matrix(*found),
        "pairs": confusion_matrix.pairs(*found),
        "recalls": confusion_matrix.recalls(*found),
    }


def cost_rows(profile, layers):
    """Rows of the cost of each layer, with their total."""
    if not layers:
        return []

    def row(figure, name, kind, steps):
        return [
            name,
            kind,
            formats.count(figure.get("params")),
            formats.number(steps, ",.6g") if steps else "",
            formats.millions(figure.get("dense_macs")),
            formats.millions(figure.get("effective_macs")),
            formats.percent(figure.get("occupancy")),
        ]

    return [
        row(layer, layer["name"], layer["kind"], layer["steps_per_second"])
        for layer in layers
    ] + [row(profile, "total", "", None)]


def occupancies(layers):
    """Bars of each layer, and of the operands under it."""
    for layer in layers:
        value = layer.get("occupancy")
        yield bar(layer["name"], value, formats.percent(value))
        for operand in layer["operands"]:
            share = operand["nonzeros"] / operand["size"]
            skips = "" if operand["sparse"] else " (never skipped)"
            name = operand["name"] + skips
            yield bar(name, share, formats.percent(share), 1, indented=True)


def bar(name, fraction, text, color=0, indented=False):
    """A horizontal bar with its name and value."""
    share = min(max(fraction, 0), 1) if formats.is_number(fraction) else 0
    return {
        "name": name,
        "width": f"{100 * share:.2f}%",
        "text": text,
        "color": color % 9,
        "indented": indented,
    }


def over_time(layers):
    """A chart per layer with a curve per operand, and the steps per point."""
    drawn = []
    longest = 1
    for layer in layers:
        curves = [o for o in layer["operands"] if o.get("over_time")]
        rate = layer["steps_per_second"]
        series = []
        for i, operand in enumerate(curves):
            values, size = plots.thin(operand["over_time"])
            longest = max(longest, size)
            values = [None if v is None else 100 * v for v in values]
            series.append(plots.Series(operand["name"], values, i, i > 1))
        x = [i * size / rate for i in range(len(series[0].values))]
        drawn.append(
            plots.line_chart(
                f"{layer['name']} ({layer['kind']}), in %",
                x,
                series,
                "time in s",
                lambda v: formats.number(v, ".1f"),
                limits=(0, 100),
            )
        )
    return drawn, longest


def quantized(run):
    """The models before and after quantization: headings and rows."""
    found = run.result.get("quantization")
    found = [row for row in found if isinstance(row, dict)] if found else []
    if not found:
        return None
    names = [name for name, _, _ in run.metrics()]
    columns = ["model"]
    for name in names:
        title = METRICS[name].title
        columns += [f"{title}, Keras", f"{title}, .tflite"]
    columns += ["occupancy, Keras", "occupancy, .tflite", "size", "smaller"]
    sizes = [row.get("bytes") for row in found]
    largest = max([s for s in sizes if formats.is_number(s)], default=0)
    rows = []
    for row, size in zip(found, sizes):
        cells = [str(row.get("name") or formats.NONE)]
        tests = [
            dict(
                (name, value)
                for name, value, _ in run_files.test_metrics(
                    as_dict(row.get(part)), run.task
                )
            )
            for part in ("test", "tflite_test")
        ]
        for name in names:
            cells += [formats.metric(name, test.get(name)) for test in tests]
        for part in ("occupancy", "tflite_occupancy"):
            cells.append(formats.percent(row.get(part), digits=2))
        cells.append(formats.metric("file_bytes", size))
        smaller = largest / size if formats.is_number(size) and size else None
        rows.append([*cells, formats.number(smaller, ".2f", "times")])
    return {"columns": columns, "rows": rows}


def epoch_table(run):
    """The numbers behind the curves: headings and rows."""
    columns = list(dict.fromkeys(n for row in run.epochs for n in row))
    rows = [[_cell(row.get(n)) for n in columns] for row in run.epochs]
    return {"columns": columns, "rows": rows}


def _hundredths(value):
    return formats.millions(value, digits=2)


def _cell(value):
    return f"{value:.6g}" if isinstance(value, float) else (value or "")
