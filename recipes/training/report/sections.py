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
    count = as_dict(run.result.get("test")).get("count")
    if figures.is_number(count):
        facts.append(f"{figures.count(count)} test recordings")
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
    worse = [
        figures.METRICS[name]
        for name, value, noisy in run.metrics()
        if figures.is_number(value)
        and figures.is_number(noisy)
        and value < noisy
    ]
    if worse:
        found.append(
            "The enhanced speech scores below the noisy input in "
            f"{' and '.join(worse)}."
        )
    if run.problems:
        found.append(
            "The run is not complete; it was stopped early, or is still "
            f"going: {'; '.join(run.problems)}."
        )
    return [tag("p", text, class_="notice") for text in found]


def tiles(run):
    """The headline numbers."""
    test = as_dict(run.result.get("test"))
    for name, value, noisy in run.metrics():
        note = "" if test else "not tested"
        if figures.is_number(noisy):
            note = f"noisy input: {figures.metric(name, noisy)}"
        yield tile(
            f"Test {figures.METRICS[name]}", figures.metric(name, value), note
        )
    if not test and run.epochs:
        yield from validation(run.epochs[-1])
    if figures.is_number(test.get("failed")) and test["failed"]:
        yield tile(
            "Scores without a value", figures.count(test["failed"]), "left out"
        )
    for title, name, form, note in (
        ("Parameters", "parameters", figures.count, ""),
        ("Occupancy", "occupancy", figures.percent, "effective over dense"),
        (
            "Effective products",
            "effective_macs",
            figures.rate,
            f"dense: {figures.rate(run.figure('dense_macs'))}",
        ),
    ):
        if figures.is_number(run.figure(name)):
            yield tile(title, form(run.figure(name)), note)


def validation(row):
    """What is known of a run that was not tested."""
    for name, value in row.items():
        if name.startswith("val_") and figures.is_number(value):
            base = name.removeprefix("val_")
            title = figures.METRICS.get(base, base)
            text = figures.metric(name, value)
            yield tile(f"Validation {title}", text, "after the last epoch")


def tile(name, value, note=""):
    """One number with its name, and what it is to be compared with."""
    number, _, unit = value.partition(figures.SPACE)
    return tag(
        "div",
        tag("span", name),
        tag("strong", number, tag("b", figures.SPACE, unit) if unit else None),
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
    # The paper's with the digits that it prints.
    for title, name, ours, theirs in (
        ("parameters", "parameters", figures.count, figures.thousands),
        ("dense, M MAC/s", "dense_macs", figures.millions, _hundredths),
        ("effective, M MAC/s", "effective_macs", figures.millions, _hundredths),
        ("occupancy", "occupancy", figures.percent, figures.percent),
    ):
        rows.append(
            [title, ours(run.figure(name))]
            + [theirs(getattr(row, name)) for row in printed]
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
    elif run.config.get("sizes"):
        text += (
            "This run used a part of its data only: the test results are not "
            "comparable. "
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


def _hundredths(value):
    return figures.millions(value, digits=2)


def _plain(value):
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return " ".join(value) if value else "[]"
    return json.dumps(value, ensure_ascii=False)


def _cell(value):
    return f"{value:.6g}" if isinstance(value, float) else (value or "")
