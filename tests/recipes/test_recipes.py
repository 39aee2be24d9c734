"""The three recipes from end to end, in small, on the backend in use."""

import csv
import json

import keras
import numpy as np
import pytest

import keras_duspar
from tasks import TASKS

SMALL = {
    "kws": "--sizes 70 35 35 --batch-size 35",
    "slu": "--sizes 62 31 31 --batch-size 31",
    "se": "--sizes 8 3 3 --batch-size 4 --segment 0.2 --num-layers 1 "
    "--validation-segment 0.5 --mask-floor 0 --stoi-weight 1",
}
FILES = {
    "checkpoint.npz",
    "config.json",
    "environment.json",
    "metrics.csv",
    "model.keras",
    "profile.json",
    "report.html",
    "result.json",
    "tensorboard",
}
MORE_FILES = {
    "kws": {"confusion.csv"},
    "slu": {"confusion.csv"},
    "se": {"examples"},
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module", params=TASKS)
def run(request, cache, tmp_path_factory):
    """A task, and the folder of a run of two epochs."""
    task = request.param
    out = tmp_path_factory.mktemp("runs") / task
    assert start(task, out, cache) == 0
    return task, out


def start(task, out, cache, arguments=""):
    """Runs a recipe in this process, in small; returns its exit code."""
    import trainer

    return trainer.main(
        TASKS[task].recipe_class(),
        f"--out {out} --cache {cache} --units 8 --epochs 2 {SMALL[task]} "
        f"{arguments}".split(),
    )


def test_files(run):
    task, out = run
    assert {path.name for path in out.iterdir()} == FILES | MORE_FILES[task]
    assert list((out / "tensorboard").iterdir())


def test_metrics(run):
    task, out = run
    with open(out / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == ["1", "2"]
    expected = {"loss", "val_loss", "occupancy", "learning_rate", "seconds"}
    assert expected <= rows[0].keys()
    assert all(np.isfinite(float(v)) for row in rows for v in row.values())
    assert float(rows[1]["learning_rate"]) == pytest.approx(0, abs=1e-7)
    if task == "se":
        # Validation hears the same mixtures in every epoch.
        assert float(rows[1]["val_loss"]) < float(rows[0]["val_loss"])


def test_config_and_environment(run):
    task, out = run
    config = json.loads((out / "config.json").read_text())
    assert config["task"] == task and config["units"] == 8
    assert config["backend"] == keras.config.backend()
    assert len(config["labels"]) == {"kws": 35, "slu": 31, "se": 0}[task]
    environment = json.loads((out / "environment.json").read_text())
    assert environment["keras"] == keras.__version__
    assert {"git_revision", "python", "started"} <= environment.keys()


def test_model_gives_the_result_and_the_profile(run):
    task, out = run
    model = keras.models.load_model(out / "model.keras")
    result = json.loads((out / "result.json").read_text())
    profile = json.loads((out / "profile.json").read_text())
    assert result["parameters"] == profile["params"]
    assert result["occupancy"] == profile["occupancy"]
    audio = np.random.default_rng(0).normal(0, 0.1, (1, 16000))
    again = keras_duspar.profile(model, audio.astype("float32"))
    assert again.dense_macs == pytest.approx(result["dense_macs"], rel=0.05)
    assert "SpecAugment" not in {type(v).__name__ for v in model.layers}
    test = result["test"]
    if task == "se":
        assert test["count"] == 3
        assert set(test["si_sdr"]) == {"noisy", "enhanced"}
    else:
        assert test["count"] == {"kws": 35, "slu": 31}[task]
        with open(out / "confusion.csv", newline="") as file:
            rows = list(csv.reader(file))[1:]
        counts = np.array([[int(v) for v in row[1:]] for row in rows])
        assert counts.sum() == test["count"]
        assert np.trace(counts) / counts.sum() == pytest.approx(
            test["accuracy"]
        )


def test_enhancement_begins_with_slow_gates(run):
    task, out = run
    if task != "se":
        pytest.skip("only enhancement takes a thousand steps per second")
    model = keras.models.load_model(out / "model.keras")
    cell = model.get_layer("recurrent_1").cell
    for half in (cell.feedforward, cell.feedback):
        biases = keras.ops.convert_to_numpy(half.gate_bias)
        # Two short epochs change them by little.
        assert biases.min() > -6.1 and biases.max() < 0.1
        assert biases.std() > 1


@pytest.mark.any_backend
def test_enhancement_gets_better_with_the_settings_of_the_demo(cache):
    """A narrow model, few sentences and few steps; all else as it is."""
    import se
    from trainer import config as configs
    from trainer import optimizers
    from trainer import starting

    steps = 16
    small = {"units": 16, "num_layers": 2, "sizes": [16, 8, 3]}
    config = configs.make(se.Config, {**small, "cache": str(cache)})
    assert config.mask_floor == 0.5 and config.stoi_weight == 20
    task = se.SpeechEnhancement(config, progress=False)
    model = task.build()
    starting.start(task, model)
    trained = task.augmented(model)
    optimizer = optimizers.adam(config, config.learning_rate, steps)
    trained.compile(optimizer, task.loss(task.phase(0)))
    batches = task.batches("train", training=True)
    before = task.validate(model)
    for step in range(steps):
        trained.train_on_batch(*batches[step])
    after = task.validate(model)
    # Measured: from 9.4 to 8.3.
    assert after["val_loss"] < before["val_loss"] - 0.5
    assert after["val_si_snr"] > before["val_si_snr"]


def test_examples_of_enhancement(run):
    import soundfile

    task, out = run
    if task != "se":
        pytest.skip("only enhancement has examples to hear")
    rows = json.loads((out / "examples/examples.json").read_text())
    assert len(rows) == 3
    for row in rows:
        for kind in ("noisy", "enhanced", "clean"):
            info = soundfile.info(out / "examples" / row[kind])
            assert info.samplerate == 16000 and info.channels == 1
            assert info.frames > 1000


def test_finished_run_is_not_overwritten_but_can_be_resumed(run, cache, capsys):
    task, out = run
    before = (out / "model.keras").read_bytes()
    assert start(task, out, cache) == 1
    assert "--resume" in capsys.readouterr().err
    assert start(task, out, cache, "--resume") == 0
    assert (out / "model.keras").read_bytes() == before


def test_resume_refuses_other_settings(run, cache, capsys):
    task, out = run
    assert start(task, out, cache, "--resume --seed 3") == 1
    assert "seed=3 in place of 0" in capsys.readouterr().err
