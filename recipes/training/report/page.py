"""The page around the sections, and its way to the disk."""

import os
import pathlib
import tempfile

from training.report import confusion
from training.report import cost
from training.report import curves
from training.report import listening
from training.report import quantization
from training.report import run as runs
from training.report import sections
from training.report.markup import Markup
from training.report.markup import join
from training.report.markup import tag

HERE = pathlib.Path(__file__).parent


def write(folder, rows=None):
    """Writes `report.html`, the page of a training run, into its folder.

    Files that are missing or damaged are named on the page: a run that was
    stopped has a report, too.

    Args:
        folder: The folder of the run, with those of `config.json`,
            `environment.json`, `metrics.csv`, `profile.json`, `result.json`,
            `confusion.csv` and `examples/examples.json` that there are.
        rows: Optional list of dictionaries, one an epoch, in place of
            `metrics.csv`.

    Returns:
        The `pathlib.Path` of the page.
    """
    run = runs.read(folder, rows)
    parts = [
        sections.header(run),
        sections.against_paper(run),
        curves.training(run),
        confusion.confusion(run),
        listening.examples(run),
        cost.cost(run),
        quantization.quantization(run),
        sections.settings(run),
    ]
    title = f"{run.model}, {run.task or 'training run'}"
    return save(run.folder / "report.html", title, parts)


def save(path, title, parts):
    """Writes a page in one step: readers see the old one or the new one.

    Args:
        path: The file.
        title: String.
        parts: What `markup.join()` takes, the body.

    Returns:
        The `pathlib.Path` of the page.
    """
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = document(title, parts)
    handle, temporary = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.name}."
    )
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, 0o644)  # mkstemp() lets nobody else read it
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path


def document(title, parts):
    """A whole HTML document with style and script inside."""
    style = Markup((HERE / "style.css").read_text(encoding="utf-8"))
    script = Markup((HERE / "script.js").read_text(encoding="utf-8"))
    head = (
        tag("meta", charset="utf-8"),
        tag(
            "meta",
            name="viewport",
            content="width=device-width, initial-scale=1",
        ),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", style),
    )
    body = tag("body", tag("main", parts), tag("script", script))
    page = tag("html", tag("head", *head), body, lang="en")
    return join([Markup("<!doctype html>\n"), page, Markup("\n")])
