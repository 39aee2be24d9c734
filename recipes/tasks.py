"""The three tasks and their metrics: the one table that everything asks.

It imports neither Keras nor a recipe, so that a process that only makes or
shows data starts quickly.
"""

import dataclasses
import importlib


@dataclasses.dataclass(frozen=True)
class Metric:
    """How a metric is written.

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
    def axis(self):
        """The title with its unit, such as `"STOI in %"`."""
        return f"{self.title} in {self.unit}" if self.unit else self.title


METRICS = {
    "accuracy": Metric("accuracy", "%", 100.0, best=1.0),
    "pesq_wb": Metric("PESQ-WB", digits=3),
    "stoi": Metric("STOI", "%", 100.0, best=1.0),
    "si_sdr": Metric("SI-SDR", "dB"),
    "si_snr": Metric("SI-SNR", "dB"),
}


@dataclasses.dataclass(frozen=True)
class Task:
    """What a recipe, its data and its results have in common.

    Attributes:
        name: String, the recipe's module and the name on command lines.
        title: String for readers.
        recipe: String, the recipe's subclass of `trainer.Task`.
        builder: String, the function of `keras_duspar.models` that builds the
            model.
        metrics: Tuple of names in `METRICS`, the most important one first.
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
    metrics: tuple
    frames_per_second: float
    synthetic_sizes: tuple
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


# Synthetic speech is drawn by a task's place in this table: append new ones.
TASKS = {
    task.name: task
    for task in (
        Task(
            "kws",
            "Keyword spotting",
            "KeywordSpotting",
            "keyword_spotter",
            ("accuracy",),
            62.5,
            (4200, 525, 700),
            "Google Speech Commands",
        ),
        Task(
            "slu",
            "Spoken language understanding",
            "IntentRecognition",
            "intent_recognizer",
            ("accuracy",),
            62.5,
            (6200, 620, 620),
            "Fluent Speech Commands",
        ),
        Task(
            "se",
            "Speech enhancement",
            "SpeechEnhancement",
            "speech_enhancer",
            ("pesq_wb", "stoi", "si_sdr"),
            # 16,000 samples make 1001 frames, both ends included.
            1001,
            (1200, 100, 100),
            "VoiceBank+DEMAND",
            {"pesq_wb": 1.97, "stoi": 0.9210, "si_sdr": 8.45},
            # Training begins with the squared error alone.
            one_loss=False,
        ),
    )
}
# Layers as the paper names them; others go by their registered name.
LAYERS = {
    "gru": "GRU",
    "delta_gru": "Delta-GRU",
    "dynamic_gru": "D-GRU",
    "duspar": "DuSpaR",
    "spar": "SpaR",
    "mingru": "minGRU",
    "ligru": "Li-GRU",
    "irnn": "IRNN",
    "egru": "EGRU",
}


def layer_title(name):
    """What a recurrent layer is called."""
    return LAYERS.get(name, str(name))
