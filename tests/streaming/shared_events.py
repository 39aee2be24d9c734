"""Scores and the events in them, the same for every language."""

import json
import pathlib
from dataclasses import dataclass

import numpy as np

from keras_duspar import models
from keras_duspar.streaming import Event
from tests.helpers import randomize

LABELS = ["yes", "no", "unknown", "silence"]


def make_spotter():
    """A model that hears two words in noise."""
    model = models.keyword_spotter("duspar", 6, len(LABELS), num_layers=1)
    randomize(model, 1.0, seed=3)
    noise = np.random.default_rng(2).normal(0, 0.1, (1, 8000))
    model.get_layer("log_mel").adapt(noise.astype("float32"))
    return model


@dataclass
class SharedEvents:
    """What `events.json` holds."""

    labels: list
    seconds: float
    settings: dict
    scores: np.ndarray
    events: list


def read_events():
    path = pathlib.Path(__file__).with_name("events.json")
    content = json.loads(path.read_text())
    scores = [
        [float(score) for score in run["scores"]]
        for run in content["runs"]
        for _ in range(run["steps"])
    ]
    return SharedEvents(
        content["labels"],
        content["seconds"],
        content["detector"],
        np.array(scores, "float32"),
        [Event(**event) for event in content["events"]],
    )


def assert_same_events(found, expected, atol=2e-6):
    assert [event.word for event in found] == [e.word for e in expected]
    for event, other in zip(found, expected):
        np.testing.assert_allclose(
            [event.start, event.end, event.confidence],
            [other.start, other.end, other.confidence],
            atol=atol,
        )
