"""The parts of the page that every run has."""

import json

from training import paper
from training.report import figures
from training.report.markup import details
from training.report.markup import section
from training.report.markup import table
from training.report.markup import tag
from training.report.run import as_dict


def header(run):
    """The title, what the run is, and its headline numbers."""
    task = figures.TASKS.get(run.task, "Training run")
    epochs, planned = len(run.epochs), run.config.get("epochs")
    facts = [
        f"data: {run.data or 'not known'}",
        f"{epochs} of {planned} epochs" if planned else f"{epochs} epochs",
    ]
    for name in ("preset", "seed", "backend"):
        if run.config.get(name) is not None:
            facts.append(f"{name} {run.config[name]}")
    if figures.is_number(run.result.get("seconds")):
        facts.append(figures.duration(run.result["seconds"]))
    return tag(
        "header",
        tag("h1", f"{task}: {run.model}"),
        tag("p", " · ".join(facts), class_="facts"),
        notices(run),
        tag("div", tiles(run), class_="tiles"),
    )


def notices(run):
    """What a reader has to know before the numbers."""
    found = []
    if run.synthetic:
        found.append(
            "Synthetic speech: this run was trained and tested on speech made "
            "by a synthesiser. Its results say nothing certain about real "
            "speech."
        )
    if run.problems:
        found.append(
            "The run is not complete: it was stopped early, or is still "
            f"going. Not shown: {'; '.join(run.problems)}."
        )
    return [tag("p", text, class_="notice") for text in found]


def tiles(run):
    """The headline numbers."""
    test = as_dict(run.result.get("test"))
    number = test.get("count")
    noun = "recordings" if figures.is_number(number) else ""
    tested = f"{figures.count(number)} test {noun}" if noun else ""
    if not test:
        tested = "not tested"
    for name, value, noisy in run.metrics():
        note = tested
        if figures.is_number(value) and figures.is_number(noisy):
            note = f"noisy input: {figures.metric(name, noisy)}; {tested}"
        yield tile(
            f"Test {figures.METRICS[name]}", figures.metric(name, value), note
        )
    if figures.is_number(test.get("failed")) and test["failed"]:
        yield tile(
            "Without a value", figures.count(test["failed"]), "test recordings"
        )
    yield tile("Parameters", figures.count(run.figure("parameters")))
    yield tile(
        "Occupancy",
        figures.percent(run.figure("occupancy")),
        "of the dense products are computed",
    )
    yield tile(
        "Effective products",
        figures.rate(run.figure("effective_macs")),
        f"dense: {figures.rate(run.figure('dense_macs'))}",
    )


def tile(name, value, note=""):
    """One number with its name, and what it is to be compared with."""
    return tag(
        "div",
        tag("span", name),
        tag("strong", value),
        tag("small", note) if note else None,
    )


def against_paper(run):
    """This run beside the paper's figures."""
    if run.task not in paper.DATA:
        return None
    layer = run.config.get("model")
    same = paper.find(run.task, layer)
    names = [layer] if same else []
    names += [n for n in ("duspar", "gru") if n != layer]
    printed = [paper.find(run.task, name) for name in names[:2]]
    columns = ["", "this run"]
    columns += [
        f"the paper: {figures.layer(row.layer)} {row.units}" for row in printed
    ]
    rows = [["data", run.data or figures.NONE]]
    rows[0] += [paper.DATA[run.task]] * len(printed)
    for name, value, noisy in run.metrics():
        title = f"test {figures.METRICS[name]}"
        texts = [figures.metric(name, row.metrics[name]) for row in printed]
        if run.task == "se":
            before = figures.metric(name, paper.NOISY[name])
            rows.append(
                [f"{title}, noisy input", figures.metric(name, noisy)]
                + [before] * len(printed)
            )
        rows.append([title, figures.metric(name, value), *texts])
    for title, name, form in (
        ("parameters", "parameters", figures.count),
        ("dense products", "dense_macs", figures.rate),
        ("effective products", "effective_macs", figures.rate),
        ("occupancy", "occupancy", figures.percent),
    ):
        rows.append(
            [title, form(run.figure(name))]
            + [form(getattr(row, name)) for row in printed]
        )
    return section(
        "This run and the paper",
        tag("p", comparability(run, same)),
        table(columns, rows),
    )


def comparability(run, same):
    """Which figures may be compared with the paper's."""
    data = paper.DATA[run.task]
    text = (
        "Columns named “the paper” are as printed there, rounded, and were "
        f"not measured here; its test set is that of {data}. "
    )
    if run.synthetic:
        text += (
            "This run used synthetic speech: data differ, so the test results "
            "are not comparable. "
        )
    else:
        text += (
            "Test results are comparable only if this run read the whole of "
            "that data set, in its own splits, and trained as long: on other "
            "data or a part of it they are not. "
        )
    if same is None:
        text += "The paper's tables have no row of this layer. "
    elif same.units != run.config.get("units"):
        text += "The widths differ, and so do parameters and products. "
    return text


def settings(run):
    """Configuration, environment and the numbers behind the curves."""
    parts = []
    for title, values in (
        ("Configuration", run.config),
        ("Environment", run.environment),
        ("Result", run.result),
    ):
        if values:
            parts.append(details(title, definitions(values)))
    if run.epochs:
        columns = list(dict.fromkeys(n for row in run.epochs for n in row))
        rows = [[_cell(row.get(n)) for n in columns] for row in run.epochs]
        parts.append(details("Metrics of every epoch", table(columns, rows)))
    return section("Settings and numbers", *parts) if parts else None


def definitions(values):
    """A dictionary as a list of names and values."""
    return tag(
        "dl",
        [[tag("dt", n), tag("dd", _plain(v))] for n, v in values.items()],
    )


def _plain(value):
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return " ".join(value) if value else "[]"
    return json.dumps(value, ensure_ascii=False)


def _cell(value):
    return f"{value:.6g}" if isinstance(value, float) else (value or "")
