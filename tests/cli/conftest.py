"""Tiny models of the three tasks, as runs and as files."""

import json

import numpy as np
import pytest

from keras_duspar import models
from keras_duspar import tflite
from tests.helpers import randomize
from tests.helpers import skip_unless_deployable

WORDS = ["yes", "no", "up", "down", "left"]
INTENTS = ["activate/lights", "deactivate/lights", "change/language"]


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The models by task, and the folder of their runs."""
    folder = tmp_path_factory.mktemp("runs")
    built = {
        "kws": models.keyword_spotter("spar", 4, num_classes=5, num_layers=1),
        "slu": models.intent_recognizer(
            "gru", 4, num_intents=3, num_layers=1, pool_size=4
        ),
        # Longer frames than the paper's take fewer steps.
        "se": models.speech_enhancer(
            "spar", 4, num_layers=1, frame_length=512, hop_length=256
        ),
    }
    labels = {"kws": WORDS, "slu": INTENTS, "se": []}
    noise = np.random.default_rng(1).normal(0, 0.1, (1, 16000))
    for task, model in built.items():
        randomize(model, 0.2 if task == "se" else 0.5)
        if task != "se":
            model.get_layer("log_mel").adapt(noise.astype("float32"))
        run = folder / task
        run.mkdir()
        model.save(run / "model.keras")
        config = {"task": task, "labels": labels[task]}
        (run / "config.json").write_text(json.dumps(config))
    return built, folder


@pytest.fixture(scope="session", params=["streaming", "whole"])
def deployed(request, trained, tmp_path_factory):
    """A folder of the same models as files `kws.tflite`, ..."""
    skip_unless_deployable()
    built, _ = trained
    folder = tmp_path_factory.mktemp(request.param)
    for task, labels in (("kws", WORDS), ("slu", INTENTS), ("se", None)):
        tflite.convert(
            built[task],
            folder / f"{task}.tflite",
            streaming=request.param == "streaming",
            labels=labels,
            task=task,
        )
    return folder
