"""The training engine: killed and resumed, full disks, bad numbers."""

import json
import resource
import signal
import subprocess
import sys

import keras
import numpy as np
import pytest

import keras_duspar
from tests.conftest import ROOT

RECIPE = ROOT / "recipes" / "kws.py"
SMALL = "--sizes 140 35 35 --batch-size 20 --units 8 --epochs 2"


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def command(cache, *arguments):
    small = [*SMALL.split(), "--cache", str(cache), "--checkpoint-steps", "2"]
    return [sys.executable, str(RECIPE), *small, *map(str, arguments)]


def execute(cache, *arguments, **options):
    return subprocess.run(
        command(cache, *arguments), capture_output=True, text=True, **options
    )


def checkpoint(out):
    with np.load(out / "checkpoint.npz") as saved:
        progress = json.loads(str(saved["progress"]))
        arrays = [saved[f"variable_{i}"] for i in range(len(saved) - 1)]
    return progress, arrays


@pytest.fixture(scope="module")
def undisturbed(cache, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "undisturbed"
    done = execute(cache, "--out", out)
    assert done.returncode == 0, done.stderr
    return out


def test_killed_in_an_epoch_and_resumed_ends_the_same(
    undisturbed, cache, tmp_path
):
    out = tmp_path / "killed"
    program, *words = command(cache, "--out", out)
    killer = ROOT / "tests" / "recipes" / "killed.py"
    killed = subprocess.run([program, killer, "3", *words])
    assert killed.returncode == -signal.SIGKILL
    assert checkpoint(out)[0]["step"] == 2  # of 7 in an epoch
    assert not (out / "result.json").exists()
    resumed = execute(cache, "--resume", out)
    assert resumed.returncode == 0, resumed.stderr
    expected, expected_arrays = checkpoint(undisturbed)
    progress, arrays = checkpoint(out)
    assert progress["step"] == expected["step"] == 14
    for array, other in zip(arrays, expected_arrays, strict=True):
        np.testing.assert_array_equal(array, other)
    for row, other in zip(progress["rows"], expected["rows"], strict=True):
        assert {**row, "seconds": 0} == {**other, "seconds": 0}
    models = [
        keras.models.load_model(p / "model.keras") for p in (out, undisturbed)
    ]
    for weight, other in zip(models[0].weights, models[1].weights):
        np.testing.assert_array_equal(
            keras.ops.convert_to_numpy(weight),
            keras.ops.convert_to_numpy(other),
        )


def test_budget_is_kept_by_a_run_that_is_killed(undisturbed, cache, tmp_path):
    start = ("--start", undisturbed, "--budget", 0.3)
    whole, out = tmp_path / "whole", tmp_path / "killed"
    done = execute(cache, "--out", whole, *start)
    assert done.returncode == 0, done.stderr
    program, *words = command(cache, "--out", out, *start)
    killer = ROOT / "tests" / "recipes" / "killed.py"
    killed = subprocess.run([program, killer, "9", *words])
    assert killed.returncode == -signal.SIGKILL
    assert checkpoint(out)[0]["budget"]["step"] == 8
    resumed = execute(cache, "--resume", out)
    assert resumed.returncode == 0, resumed.stderr
    expected, expected_arrays = checkpoint(whole)
    progress, arrays = checkpoint(out)
    assert progress["budget"] == expected["budget"]
    assert progress["budget"]["step"] == 14
    for array, other in zip(arrays, expected_arrays, strict=True):
        np.testing.assert_array_equal(array, other)
    for row, other in zip(progress["rows"], expected["rows"], strict=True):
        assert {**row, "seconds": 0} == {**other, "seconds": 0}
        assert row["budget_occupancy"] == row["occupancy"]
    assert row["budget_aim"] == 0.3 and row["budget_weight"] > 0
    result = json.loads((out / "result.json").read_text())
    plain = json.loads((undisturbed / "result.json").read_text())
    assert result["parameters"] == plain["parameters"]
    loaded = keras.models.load_model(out / "model.keras")
    assert len(loaded.variables) == len(
        keras.models.load_model(undisturbed / "model.keras").variables
    )


@pytest.mark.any_backend
def test_full_disk_keeps_the_last_checkpoint(undisturbed, cache, tmp_path):
    out = tmp_path / "full"
    size = (undisturbed / "checkpoint.npz").stat().st_size

    # The first checkpoint, which has no rows of metrics yet, still fits.
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size - 200, size - 200))

    done = execute(cache, "--out", out, preexec_fn=limit)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "cannot be written: File too large" in done.stderr
    assert "--resume" in done.stderr
    progress, arrays = checkpoint(out)
    assert progress["step"] > 0 and np.isfinite(arrays[-1]).all()
    assert not list(out.glob(".*")), "half-written files are left"
    assert execute(cache, "--resume", out).returncode == 0
    for array, other in zip(checkpoint(out)[1], checkpoint(undisturbed)[1]):
        np.testing.assert_array_equal(array, other)


@pytest.mark.any_backend
def test_nan_stops_and_keeps_the_last_good_state(cache, tmp_path):
    out = tmp_path / "nan"
    done = execute(
        cache, "--out", out, "--learning-rate", 1e38, "--schedule", "constant"
    )
    assert done.returncode == 1
    assert "The loss is" in done.stderr and "--learning-rate" in done.stderr
    if (out / "checkpoint.npz").exists():
        assert all(np.isfinite(a).all() for a in checkpoint(out)[1])


@pytest.mark.any_backend
class TestBadInput:
    """Errors before any data is made: quick, and without a traceback."""

    @pytest.fixture
    def error(self, cache, tmp_path, capsys):
        import kws
        import trainer

        def run(*arguments, out="run"):
            out = tmp_path / out
            arguments = [*arguments, "--out", out, "--cache", cache]
            code = trainer.main(kws.KeywordSpotting, [*map(str, arguments)])
            assert code == 1
            return capsys.readouterr().err

        return run

    def test_unwritable_folder(self, error, tmp_path):
        (tmp_path / "file").write_text("")
        assert "cannot be written" in error(out="file/run")

    def test_settings(self, error):
        assert "`units`" in error("--units", 0)
        assert "`epochs`" in error("--epochs", -1)
        assert "`learning_rate`" in error("--learning-rate", 0)
        assert "`budget` must be such as" in error("--budget", "much")
        assert "`budget_table`" in error("--budget-table", "times.json")
        message = error("--model", "grru")
        assert "`model`" in message and "duspar" in message
        for options in ({"theta": 1}, {"name": "a"}, {"activation": "relo"}):
            message = error("--options", json.dumps(options))
            assert "`--options` must be arguments of the layer" in message
            assert json.dumps(options) in message

    def test_missing_backend(self, error, monkeypatch):
        other = "jax" if keras.config.backend() == "torch" else "torch"
        monkeypatch.setitem(sys.modules, other, None)
        message = error("--backend", other)
        assert "`--backend`" in message and f"pip install {other}" in message

    def test_missing_data(self, error, tmp_path):
        message = error("--data", tmp_path / "nowhere")
        assert f"`--data {tmp_path / 'nowhere'}`" in message
        assert "does not exist" in message

    def test_resume_of_what_is_no_run(self, error, tmp_path):
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "photo.jpg").write_text("")
        assert "no config.json" in error("--resume")
        before = sorted(tmp_path.rglob("*"))
        (tmp_path / "empty").mkdir()
        for name, problem in (
            ("run", "has no config.json"),
            ("empty", "has no config.json"),
            ("nowhere", "does not exist"),
            ("run/photo.jpg", "is a file"),
        ):
            message = error("--resume", tmp_path / name)
            assert "`--resume` must name the folder of a run" in message
            assert problem in message and message.count("\n") == 1
        (tmp_path / "empty").rmdir()
        assert sorted(tmp_path.rglob("*")) == before

    def test_resume_of_what_has_not_begun(self, tmp_path):
        """`--out` with `--resume` begins a run: jobs that are restarted."""
        import kws
        from trainer import command

        for out in (tmp_path, tmp_path / "nowhere"):
            arguments = ["--out", str(out), "--resume"]
            _, found, resume, _ = command.parse(kws.KeywordSpotting, arguments)
            assert (found, resume) == (str(out), False)

    def test_settings_that_do_not_fit_leave_the_folder_free(
        self, error, tmp_path
    ):
        small = ["--sizes", 70, 35, 35, "--units", 4, "--batch-size", 35]
        for wrong in (
            ["--start", tmp_path / "nowhere"],
            ["--batch-size", 71],
        ):
            error(*small, *wrong)
            assert not list((tmp_path / "run").iterdir())

    def test_resume_of_another_task(self, error, tmp_path):
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "config.json").write_text('{"task": "se"}')
        message = error("--resume")
        assert "`--resume` must name a run of kws.py" in message
        assert message.endswith("a run of se.py.\n")

    def test_config_file(self, error, tmp_path):
        file = tmp_path / "config.yaml"
        file.write_text("units: 8\nspeed: 3\n")
        assert "speed" in error("--config", file)
        file.write_text("{units: [")
        assert "JSON or YAML" in error("--config", file)
        file.write_text("- 1")
        assert "names and values" in error("--config", file)
        file.write_text("task: slu")
        assert "'slu'" in error("--config", file)
        assert "can be read" in error("--config", tmp_path / "none.yaml")

    def test_broken_checkpoint(self, undisturbed, error, tmp_path):
        out = tmp_path / "run"
        out.mkdir()
        for name in ("config.json", "checkpoint.npz"):
            (out / name).write_bytes((undisturbed / name).read_bytes()[:2000])
        assert "is no checkpoint" in error("--resume")


@pytest.mark.any_backend
def test_settings_come_from_flags_then_file_then_preset(tmp_path):
    import kws
    from trainer import config

    file = tmp_path / "config.json"
    file.write_text('{"preset": "paper", "units": 64, "seed": 5}')
    made = config.make(kws.Config, {"seed": 7}, file)
    assert (made.epochs, made.units, made.seed) == (100, 64, 7)
    assert (
        config.make(kws.Config, {}).epochs
        == kws.Config.presets["demo"]["epochs"]
    )


@pytest.mark.any_backend
def test_progress_tells_the_time_that_is_left():
    import io

    import rich.console

    from datasets import progress

    text = io.StringIO()
    console = rich.console.Console(file=text, width=120)
    console.get_time = iter(range(0, 999, 3)).__next__  # 3 s per look
    with progress.bar("training", 2, console=console) as advance:
        advance()
        advance(name="epoch 1/1")
    line = text.getvalue().splitlines()[-1]
    assert (
        "epoch 1/1" in line
        and "2/2" in line
        and line.rstrip().endswith("left 0:00:00")
    )
    assert line.count("0:00:00") == 1  # some time went by


@pytest.mark.any_backend
@pytest.mark.parametrize(
    "recipe, epochs, batch",
    [("kws", 100, 64), ("slu", 200, 64), ("se", 280, 32)],
)
def test_paper_preset(recipe, epochs, batch):
    import importlib

    from trainer import config

    made = config.make(
        importlib.import_module(recipe).Config, {"preset": "paper"}
    )
    assert (made.epochs, made.batch_size) == (epochs, batch)
    if recipe == "slu":
        assert made.cross_entropy_epochs * epochs == 100
    if recipe == "se":
        assert made.mse_epochs * epochs == 200


@pytest.mark.any_backend
def test_backend_flag_starts_on_that_backend(cache, tmp_path):
    out = tmp_path / "jax"
    other = "jax" if keras.config.backend() != "jax" else "torch"
    done = execute(cache, "--out", out, "--backend", other, "--epochs", 1)
    assert done.returncode == 0, done.stderr
    assert json.loads((out / "config.json").read_text())["backend"] == other


@pytest.mark.any_backend
@pytest.mark.parametrize(
    "recipe, name, value",
    [
        ("se", "segment", -1.0),
        ("se", "validation_segment", 0.01),
        ("se", "mse_epochs", 2.0),
        ("se", "gate_biases", [1.0, 0.0]),
        ("slu", "gate_biases", -3.0),
        ("kws", "gate_biases", [-3.0]),
        ("kws", "gate_biases", [-3.0, "0"]),
        ("kws", "context", -1.0),
        ("se", "swap_noise", 1.5),
        ("se", "variety", -0.1),
        ("slu", "cross_entropy_epochs", 7.0),
        ("slu", "cross_entropy_weight", -1.0),
    ],
)
def test_bad_settings_of_a_recipe(recipe, name, value):
    import importlib

    from trainer import config

    with pytest.raises(ValueError, match=f"`{name}`"):
        config.make(importlib.import_module(recipe).Config, {name: value})


@pytest.mark.any_backend
@pytest.mark.parametrize(
    "settings, least, largest",
    [
        ({}, -3.0, -1.0),  # the recipe's own
        ({"gate_biases": [0.5, 0.75]}, 0.5, 0.75),
        ({"gate_biases": None}, -4.0, -1.0),  # the layer's own
        ({"model": "gru"}, None, None),  # has no such option
    ],
)
def test_gates_start_where_they_are_told(settings, least, largest):
    import slu
    from trainer import config

    task = object.__new__(slu.IntentRecognition)  # without data
    task.config = config.make(slu.Config, {"units": 64, **settings})
    arguments = task.recurrent_arguments()
    model = keras_duspar.models.intent_recognizer(num_intents=3, **arguments)
    biases = [
        keras.ops.convert_to_numpy(weight)
        for weight in model.weights
        if weight.path.endswith("gate_bias")
    ]
    assert bool(biases) == (least is not None)
    for bias in biases:
        assert least <= bias.min() and bias.max() <= largest
        assert np.ptp(bias) > 0.8 * (largest - least)


@pytest.mark.any_backend
def test_what_precedes_a_word_gives_states_and_no_scores():
    from trainer.task import mask_features

    model = keras_duspar.models.keyword_spotter(units=8, num_classes=3)
    audio = np.random.default_rng(0).normal(0, 0.1, (2, 256 * 30))
    classifier = keras.Model(model.input, model.get_layer("classifier").output)
    frames = keras.ops.convert_to_numpy(classifier(audio))
    trained = mask_features(model, seed=0, pooled=18)(audio)
    np.testing.assert_allclose(
        keras.ops.convert_to_numpy(trained), frames[:, 12:].mean(1), atol=1e-6
    )
