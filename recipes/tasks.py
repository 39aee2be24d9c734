"""The three tasks and their metrics: the one table that everything asks.

It imports neither Keras nor a recipe, so that a process that only makes or
shows data starts quickly.
"""

import dataclasses
import importlib

import yaml_tables


@dataclasses.dataclass(frozen=True)
class Metric:
    """How a metric of a test, or a figure of the cost, is written.

    Attributes:
        title: String, its name in a sentence.
        unit: String.
        factor: Float that turns a value of `result.json` into that unit.
        digits: Integer, digits after the point.
        best: Float, the end of its scale in `result.json`, or `None`.
    """

    title: str
    unit: str = ""
    factor: float = 1.0
    digits: int = 2
    best: float | None = None

    @property
    def heading(self):
        """The title as the beginning of a line."""
        return self.title[:1].upper() + self.title[1:]

    @property
    def axis(self):
        """The title with its unit, such as `"STOI in %"`."""
        return f"{self.title} in {self.unit}" if self.unit else self.title


_TABLES = yaml_tables.beside(__file__)
METRICS = {name: Metric(**m) for name, m in _TABLES["metrics"].items()}


@dataclasses.dataclass(frozen=True)
class Task:
    """What a recipe, its data and its results have in common.

    Attributes:
        name: String, the recipe's module and the name on command lines.
        title: String for readers.
        recipe: String, the recipe's subclass of `trainer.Task`.
        builder: String, the function of `keras_duspar.models` that builds the
            model.
        metrics: List of names in `METRICS`, the most important one first.
        frames_per_second: Float, time steps per second that the first layer
            takes.
        synthetic_sizes: Three integers, the synthetic utterances for
            training, validation and test.
        paper_data: String, the data set that the paper used.
        noisy: Dictionary from metric to the paper's value of the unprocessed
            recordings, or `None` if the task does not enhance them.
        one_loss: Boolean, whether the loss of training and that of validation
            are the same sum.
    """

    name: str
    title: str
    recipe: str
    builder: str
    metrics: list
    frames_per_second: float
    synthetic_sizes: list
    paper_data: str
    noisy: dict | None = None
    one_loss: bool = True

    def path(self, metric, side="enhanced"):
        """The keys in `result.json` that lead to a metric of the test."""
        return ("test", metric, side) if self.noisy else ("test", metric)

    def recipe_class(self):
        """The recipe's subclass of `trainer.Task`; imports the recipe."""
        return getattr(importlib.import_module(self.name), self.recipe)

    def build(self, *arguments, **options):
        """Builds the task's model; imports Keras."""
        models = importlib.import_module("keras_duspar.models")
        return getattr(models, self.builder)(*arguments, **options)


TASKS = {name: Task(name, **t) for name, t in _TABLES["tasks"].items()}
# Layers as the paper names them; others go by their registered name.
LAYERS = _TABLES["layers"]


def layer_title(name):
    """What a recurrent layer is called."""
    return LAYERS.get(name, str(name))
