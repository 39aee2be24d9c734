"""Reading the folder of a run, of which any file may be missing."""

import csv
import dataclasses
import io
import json
import math
import pathlib

from keras_duspar.utils import checks
from tasks import TASKS
from tasks import layer_title


@dataclasses.dataclass
class Run:
    """What a run left in its folder.

    Attributes:
        folder: `pathlib.Path`.
        config: Dictionary of `config.json`.
        environment: Dictionary of `environment.json`.
        profile: Dictionary of `profile.json`.
        result: Dictionary of `result.json`.
        problems: List of strings, what is missing or cannot be read.
        epochs: List of dictionaries, the rows of `metrics.csv`.
        speed: Dictionary of `speed.json`, empty if the model was not timed.
        confusion: Dictionary with `"true"` and `"predicted"`, lists of
            labels, and `"counts"`, a list of rows; `None` if there is none.
        examples: List of dictionaries of `examples/examples.json`.
    """

    folder: pathlib.Path
    config: dict
    environment: dict
    profile: dict
    result: dict
    problems: list
    epochs: list = dataclasses.field(default_factory=list)
    speed: dict = dataclasses.field(default_factory=dict)
    confusion: dict | None = None
    examples: list = dataclasses.field(default_factory=list)

    @property
    def task(self):
        """The task's short name, or an empty string if it is not known."""
        return self.config.get("task") or self.result.get("task") or ""

    @property
    def title(self):
        """The task's title, or an empty string if it is not known."""
        return TASKS[self.task].title if self.task in TASKS else ""

    @property
    def model(self):
        """The layer, its width and scheme, such as `"DuSpaR 128 int8"`."""
        known = {**self.result, **self.config}
        name = layer_title(known.get("model") or "unknown model")
        parts = (name, known.get("units"), known.get("quantize"))
        return " ".join(str(part) for part in parts if part)

    @property
    def data(self):
        """What the data is, or `None` if it is not known."""
        if self.result.get("data"):
            return str(self.result["data"])
        if "data" not in self.config:
            return None
        return str(self.config["data"] or "synthetic speech")

    @property
    def synthetic(self):
        """Whether the data is synthetic: no folder of data was given."""
        if "data" in self.config:
            return self.config["data"] is None
        return (self.data or "").startswith("synthetic")

    def figure(self, name):
        """A figure of `result.json`, else of the profile or of the speed."""
        other = "params" if name == "parameters" else name
        for values, key in (
            (self.result, name),
            (self.profile, other),
            (self.speed, name),
        ):
            if values.get(key) is not None:
                return values[key]
        return None

    def metrics(self):
        """Yields metric, value, and value of the noisy input or `None`."""
        return test_metrics(as_dict(self.result.get("test")), self.task)


def test_metrics(test, task):
    """Yields metric, value, and value of the noisy input or `None`.

    Args:
        test: Dictionary, what a recipe's test gave.
        task: String, the task's short name.
    """
    for name in TASKS[task].metrics if task in TASKS else ("accuracy",):
        value = test.get(name)
        if isinstance(value, dict):
            yield name, value.get("enhanced"), value.get("noisy")
        else:
            yield name, value, None


def as_dict(value):
    """`value` if it is a dictionary, else an empty one."""
    return value if isinstance(value, dict) else {}


def read(folder, rows=None):
    """Reads the folder of a run.

    Args:
        folder: The folder.
        rows: Optional list of dictionaries, the epochs, in place of
            `metrics.csv`.

    Returns:
        A `Run`.
    """
    folder = pathlib.Path(folder)
    if not folder.is_dir():
        raise checks.bad_value(
            "folder", "the folder of a training run", str(folder)
        )
    reader = _Reader(folder)
    names = ("config", "environment", "profile", "result")
    files = [reader.json(f"{name}.json", dict) for name in names]
    run = Run(folder, *files, reader.problems)
    if rows is None:
        rows = reader.parse("metrics.csv", _rows) or []
    run.epochs = [
        # The last row may be cut off, or two be written over each other.
        {name: value(text) for name, text in row.items() if name}
        for row in rows
    ]
    if (folder / "speed.json").exists():
        run.speed = reader.json("speed.json", dict)
    if run.task not in TASKS or not TASKS[run.task].noisy:
        run.confusion = reader.parse("confusion.csv", _matrix)
    else:
        run.examples = [
            example
            for example in reader.json("examples/examples.json", list)
            if isinstance(example, dict)
        ]
    return run


class _Reader:
    """Reads files and takes note of those that it cannot read."""

    def __init__(self, folder):
        self.folder = folder
        self.problems = []

    def parse(self, name, parse):
        try:
            text = (self.folder / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            self.problems.append(f"{name} is missing")
            return None
        except (OSError, UnicodeDecodeError) as e:
            self.problems.append(f"{name} cannot be read: {e}")
            return None
        try:
            return parse(text)
        except (ValueError, IndexError) as e:
            self.problems.append(f"{name} is damaged: {e}")
            return None

    def json(self, name, kind):
        def parse(text):
            value = json.loads(text)
            if not isinstance(value, kind):
                raise ValueError(f"it holds no {kind.__name__}")
            return value

        value = self.parse(name, parse)
        return kind() if value is None else value


def _rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def value(text):
    """A number where the text of a cell is one; nothing for no text."""
    if text is None or text == "":
        return None
    try:
        return float(text)
    except (TypeError, ValueError):
        return text


def _matrix(text):
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    predicted = rows[0][1:]
    counts = [[float(cell or 0) for cell in row[1:]] for row in rows[1:]]
    for row in counts:
        if len(row) != len(predicted):
            raise ValueError(
                f"a row has {len(row)} counts for {len(predicted)} labels"
            )
        if not all(math.isfinite(c) and c >= 0 for c in row):
            raise ValueError("a count is negative or not finite")
    if not counts:
        raise ValueError("it has no rows")
    return {
        "true": [row[0] for row in rows[1:]],
        "predicted": predicted,
        "counts": counts,
    }
