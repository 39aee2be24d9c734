"""Runs that go on with rounded numbers."""

import json

import keras
import numpy as np
import pytest
import rich.console

import keras_duspar

pytestmark = pytest.mark.any_backend
SETTINGS = {
    "sizes": [70, 35, 35],
    "batch_size": 35,
    "units": 8,
    "epochs": 2,
    "checkpoint_steps": 1,
    "quantize": "int8",
    "quantize_from": 1,
}


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    import kws

    cache = tmp_path_factory.mktemp("cache")
    config = kws.Config(**SETTINGS, cache=str(cache))
    return kws.KeywordSpotting(config, progress=False)


def train(task, out, stop=None):
    """Trains into a folder; stops after so many steps as if it was killed."""
    from trainer import distributed
    from trainer import engine
    from trainer.run_folder import RunFolder

    folder = RunFolder(out)
    console = rich.console.Console(quiet=True)
    training = engine.Training(task, folder, console, distributed.Alone())
    step = training._step

    def stopping_step(*batch):
        if training.progress.step == stop:
            raise KeyboardInterrupt
        step(*batch)

    training._step = stopping_step
    training.run()
    return folder


@pytest.fixture(scope="module")
def folder(task, tmp_path_factory):
    return train(task, tmp_path_factory.mktemp("runs") / "whole")


def test_float_first(folder):
    plain = keras.models.load_model(folder / "float.keras")
    rounded = keras.models.load_model(folder / "model.keras")
    assert plain.get_layer("recurrent_1").quantization is None
    cell = rounded.get_layer("recurrent_1").cell
    assert cell.quantization == keras_duspar.QuantScheme()
    assert float(cell.feedforward.quantizer.ranges["x"]) > 0
    text = (folder / "metrics.csv").read_text().splitlines()
    assert len(text) == 3


def test_stopped_and_resumed_ends_the_same(task, folder, tmp_path):
    for stop in (2, 3):  # just before rounding, and in the midst of it
        out = tmp_path / str(stop)
        with pytest.raises(KeyboardInterrupt):
            train(task, out, stop)
        train(task, out)
        with (
            np.load(out / "checkpoint.npz") as first,
            np.load(folder / "checkpoint.npz") as second,
        ):
            assert set(first) == set(second)
            for name in set(first) - {"progress"}:
                np.testing.assert_array_equal(first[name], second[name])


def test_side_by_side(task, folder):
    if keras.backend.backend() != "tensorflow":
        pytest.skip("converts in this process: runs on TensorFlow")
    from trainer import engine

    result = engine.evaluate(task, folder)
    rows = {row["name"]: row for row in result["quantization"]}
    assert list(rows) == [
        "float32",
        "bfloat16, after training",
        "int8, after training",
        "int8, trained",
    ]
    for row in rows.values():
        difference = row["tflite_test"]["accuracy"] - row["test"]["accuracy"]
        assert abs(difference) <= 1 / 35
        assert row["tflite_occupancy"] == pytest.approx(
            row["occupancy"], abs=0.002
        )
    sizes = [row["bytes"] for row in rows.values()]
    assert sizes[0] > sizes[1] > sizes[2] == pytest.approx(sizes[3], rel=0.01)
    page = (folder / "report.html").read_text()
    assert "Quantization" in page and "int8, trained" in page
    assert json.loads((folder / "result.json").read_text()) == result


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"quantize_from": 2}, "must be from 0 to `epochs` - 1"),
        ({"quantize": "int7"}, "`scheme` must be"),
        ({"quantize": None}, "must come with `quantize`"),
    ],
)
def test_bad_settings(settings, message):
    import kws
    from trainer.errors import TrainingError

    with pytest.raises((TrainingError, ValueError), match=message):
        kws.Config(**{**SETTINGS, **settings})


def test_start(task, tmp_path):
    from trainer import starting

    trained = task.build()
    trained.name = "another_name"
    trained.save(tmp_path / "model.keras")
    model = task.build()
    task.config.start = str(tmp_path)
    try:
        starting.start(task, model)
    finally:
        task.config.start = None
    for weight, other in zip(model.get_weights(), trained.get_weights()):
        np.testing.assert_array_equal(weight, other)


def test_bad_start(task, tmp_path):
    from trainer import starting
    from trainer.errors import TrainingError

    model = task.build()
    for name, other in {
        "small": keras_duspar.models.keyword_spotter("duspar", 4),
        "other": keras_duspar.models.keyword_spotter("spar", 8),
        "task": keras_duspar.models.speech_enhancer("duspar", 8),
    }.items():
        other.save(tmp_path / f"{name}.keras")
    whole = (tmp_path / "task.keras").read_bytes()
    (tmp_path / "cut.keras").write_bytes(whole[:5000])
    same = "must name a run of the same task and model.*"
    for start, message in (
        ("", "`--start` must name a run or .* there is no model"),
        ("cut.keras", "`--start` must name a run or .* damaged or no model"),
        ("small.keras", f"`--start` {same}DuSpaR and DuSpaR .* in place of"),
        ("other.keras", f"`--start` {same}of SpaR .* in place of .* DuSpaR"),
        ("task.keras", f"`--start` {same}a speech_enhancer .* in place of a"),
    ):
        task.config.start = str(tmp_path / start)
        try:
            with pytest.raises(TrainingError, match=message):
                starting.start(task, model)
        finally:
            task.config.start = None
