"""Sweeps: grids, what is shown, and errors before anything is trained."""

import os
import pathlib

import pytest

from tests.recipes.fake_sweep import GRID
from tests.recipes.fake_sweep import write_grid

pytestmark = pytest.mark.any_backend


class TestBadInput:
    """Errors before anything is trained, without a traceback."""

    @pytest.fixture
    def error(self, tmp_path, capsys):
        import sweep

        def run(*arguments, grid=GRID, task="kws"):
            path = write_grid(tmp_path, grid)
            words = ["--task", task, "--grid", path, "--out", tmp_path / "out"]
            words += ["--cache", tmp_path / "cache", *arguments]
            assert sweep.main([str(word) for word in words]) == 1
            return capsys.readouterr().err

        return run

    @pytest.mark.parametrize(
        "old, new, words",
        [
            ("duspar:", "lstm:", "`models` must be out of delta_gru"),
            ("duspar:", "delta_gru:", "'delta_gru' stands there twice"),
            ("units: [8], theta", "theta", "`delta_gru` must have `units`"),
            ("{units: [8]}", "{units: []}", "has no value for `units`"),
            ("{units: [8]}", "{units: [8, 8]}", "duspar-8-seed0 must be there"),
            ("{units: [8]}", "{units: [0]}", "`units` must be a positive"),
            ("{units: [8]}", "[8]", "`duspar` must have `units`"),
            ("theta: [0.1]", "theta: [-1]", "`theta` must be"),
            ("theta: [0.1]", "thata: [0.1]", "thata"),
            ("[0, 1]", "[0, 0]", "seed0 must be there once"),
            ("[0, 1]", "[]", "`seeds` must be a list of seeds"),
            ("[0, 1]", "[-1]", "`seeds` must be integers of at least 0"),
            ("seeds:", "seed:", "nothing but models, seeds, settings"),
            ("epochs: 2", "epochs: 0", "`epochs` must be a positive integer"),
            ("epochs: 2", "epoch: 2", "Received: epoch"),
            ("epochs: 2", "units: 2", "must leave model, units, options"),
            (GRID, "", "must hold models, seeds, settings"),
            (GRID, "models: {}\nseeds: [0]", "`models` must be names"),
            (GRID, "a: [", "cannot be read"),
        ],
    )
    def test_grid(self, error, old, new, words):
        assert old in GRID
        assert words in error(grid=GRID.replace(old, new))

    def test_no_such_grid(self, error):
        assert "must be one of budgets, curve, paper, quick" in error(
            "--grid", "missing.yaml"
        )

    @pytest.mark.parametrize(
        "flag, value",
        [("--cpus", 0), ("--gpus", -1), ("--workers", 0), ("--retries", -1)],
    )
    def test_options(self, error, flag, value):
        assert f"`{flag[2:]}` must be" in error(flag, value)

    def test_other_settings_than_before(self, error, tmp_path):
        import kws
        from sweeping import grid

        (trial, *_) = grid.trials(kws.Config, write_grid(tmp_path))
        folder = tmp_path / "out" / "runs" / trial.name
        folder.mkdir(parents=True)
        settings = trial.config.to_dict() | {"epochs": 9}
        (folder / "config.json").write_text(
            str(settings).replace("'", '"').replace("None", "null")
        )
        assert "epochs=2 in place of 9" in error("--backend", "jax")

    def test_nobody_at_the_address(self, error, tmp_path):
        message = error("--address", "127.0.0.1:1")
        assert "Ray does not answer at `--address` 127.0.0.1:1" in message
        assert not (tmp_path / "cache").exists()

    def test_two_drivers(self, error, tmp_path):
        from sweeping.trial import only_one
        from trainer.run_folder import RunFolder

        with only_one(RunFolder(tmp_path / "out")):
            assert "Another process is at work" in error()


@pytest.mark.parametrize(
    "task, trials", [("kws", 250), ("slu", 250), ("se", 195)]
)
def test_the_papers_grid(task, trials):
    import importlib

    from sweeping import grid

    config_class = importlib.import_module(task).Config
    found = grid.trials(config_class, grid.find(task, "paper"))
    assert len(found) == len({trial.name for trial in found}) == trials
    assert {trial.config.preset for trial in found} == {"paper"}
    assert {trial.config.seed for trial in found} == set(range(5))
    quick = grid.trials(config_class, grid.find(task, "quick"))
    assert {trial.config.model for trial in quick} >= {"duspar", "spar"}


def test_budgets_of_a_grid(tmp_path):
    import kws
    from sweeping import grid

    path = write_grid(
        tmp_path,
        "models:\n  duspar: {units: [8, 16], budget: [null, 0.3, 1us]}\n"
        "seeds: [3]\nsettings: {start: 'runs/{model}-{units}-{seed}'}\n",
    )
    found = {t.name: t.config for t in grid.trials(kws.Config, path)}
    assert list(found) == [
        "duspar-8-seed3",
        "duspar-16-seed3",
        "duspar-8-budget0.3-seed3",
        "duspar-16-budget0.3-seed3",
        "duspar-8-budget1us-seed3",
        "duspar-16-budget1us-seed3",
    ]
    config = found["duspar-16-budget0.3-seed3"]
    assert config.budget == "0.3" and config.options == {}
    assert config.start == "runs/duspar-16-3"
    assert found["duspar-8-seed3"].budget is None
    assert grid.trials(kws.Config, grid.find("kws", "budgets"))
    bad = path.read_text().replace("0.3", "3")
    with pytest.raises(ValueError, match="`budget` must be"):
        grid.trials(kws.Config, write_grid(tmp_path, bad))


def test_progress_and_time_left(tmp_path):
    import io

    import rich.console

    import kws
    from sweeping import grid
    from sweeping import monitor
    from sweeping.driver import Sweep
    from trainer.run_folder import RunFolder

    trials = grid.trials(kws.Config, write_grid(tmp_path))
    sweep = Sweep(trials, RunFolder(tmp_path), ["sweep.py"])
    assert monitor.time_left(sweep) is None
    assert monitor.summary(sweep) == "0 of 4 trials"
    for trial, seconds in zip(trials[:2], (100, 40)):
        sweep.rows[trial.name] = {
            "status": "finished",
            "model": trial.config.model,
            "units": 8,
            "seconds": seconds,
        }
    # Two are left, each like the one of its model.
    assert monitor.time_left(sweep) == 140
    running = sweep.path(trials[2])
    running.mkdir(parents=True)
    (running / "worker.pid").write_text("1")
    (running / "metrics.csv").write_text("epoch\n1\n")
    # One of the two epochs of 100 seconds is done.
    assert monitor.time_left(sweep) == 90
    console = rich.console.Console(file=io.StringIO(), width=100)
    console.print(monitor.table(sweep))
    lines = console.file.getvalue().splitlines()
    assert lines[0].startswith("2 of 4 trials, about 90.0")
    (duspar,) = [line.split() for line in lines if "DuSpaR" in line]
    assert [word for word in duspar if word != "│"] == [
        "DuSpaR",
        "1",
        "1",
        "duspar-8-seed1",
        "1/2",
    ]


def test_every_column_of_the_table(tmp_path, kws):
    """Read back from both files: what was trained, counted and measured."""
    import csv
    import json

    import pyarrow.parquet

    import kws as recipe
    from sweeping import grid
    from sweeping import results
    from trainer.run_folder import RunFolder

    (trial, *_) = grid.trials(recipe.Config, write_grid(tmp_path))
    result = json.loads((kws / "result.json").read_text())
    result["validation"] = {"accuracy": 0.9, "loss": 0.4}
    (kws / "result.json").write_text(json.dumps(result))
    speed = {"ms_per_frame": 0.02, "ms_per_frame_p99": 0.03}
    speed |= {"real_time_factor": 0.001, "file_bytes": 12345}
    (kws / "speed.json").write_text(json.dumps(speed))
    row = results.row(trial, kws)
    failed = results.row(trial, kws, "It broke")
    results.write(RunFolder(tmp_path), [row, failed])

    profile = json.loads((kws / "profile.json").read_text())
    expected = {
        **trial.config.to_dict(),
        **speed,
        "options": "{}",
        "sizes": "[70, 35, 35]",
        "gate_biases": "[0.0, 0.0]",
        "gain_db": "[-10.0, 6.0]",
        "noise_snr": "[0.0, 30.0]",
        "trial": "duspar-8-seed0",
        "status": "finished",
        "run": f"{tmp_path.name}/kws",
        "data_name": result["data"],
        "test/accuracy": 0.9253,
        "test/count": 870,
        "validation/accuracy": 0.9,
        "validation/loss": 0.4,
        "version/keras": "3.15.0",
        "version/python": "3.11.2",
        "version/git_revision": "4e4a2e9",
        "seconds": 512.3,
    }
    for name in ("parameters", "dense_macs", "effective_macs", "occupancy"):
        expected[name] = result[name]
    expected["best_epoch"] = result["best_epoch"]
    for layer in profile["layers"]:
        for operand, share in layer["occupancies"].items():
            expected[f"occupancy/{layer['name']}/{operand}"] = share
    operands = [name for name in expected if "occupancy/recurrent" in name]
    assert len(operands) == 4  # two layers, e+ and y+
    assert row == expected

    typed = pyarrow.parquet.read_table(tmp_path / "results.parquet").to_pylist()
    with open(tmp_path / "results.csv", newline="") as file:
        texts = list(csv.DictReader(file))
    assert {k: v for k, v in typed[0].items() if k != "error"} == expected
    assert typed[1]["status"] == "failed" and typed[1]["error"] == "It broke"
    for row, text in zip(typed, texts, strict=True):
        assert {k: "" if v is None else str(v) for k, v in row.items()} == text


def test_a_failed_trial_is_a_row(tmp_path):
    """A run that cannot go on is told, and the others are not stopped."""
    import kws
    from sweeping import grid
    from sweeping import results
    from sweeping import trial as trials

    (trial, *_) = grid.trials(kws.Config, write_grid(tmp_path))
    path = tmp_path / "runs" / trial.name
    settings = {**trial.config.to_dict(), "data": str(tmp_path / "nowhere")}
    error = trials.run("kws", settings, path, ["sweep.py"])
    assert "nowhere" in error and "does not exist" in error
    assert "Traceback" in (path / "log.txt").read_text()
    row = results.row(trial, path, error)
    assert row["status"] == "failed" and row["error"] == error
    assert row["run"] == pathlib.Path("runs", trial.name).as_posix()


class FakeRay:
    """A Ray that remembers in which environment it was started."""

    def init(self, **options):
        self.environment = dict(os.environ)

    def nodes(self):
        return [{"Alive": True, "Resources": {"CPU": 2}}]

    def shutdown(self):
        pass


@pytest.mark.parametrize("asked", [None, "77"])
def test_ray_gets_more_time_to_start(asked, monkeypatch):
    """Unless the user says how much."""
    from sweeping import cluster

    ray = FakeRay()
    monkeypatch.setattr(cluster, "optional_package", lambda *names: ray)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    for name, value in cluster.PATIENCE.items():
        assert int(value) > (30_000 if name.endswith("_ms") else 30)
        os.environ.pop(name, None)
        if asked:
            os.environ[name] = asked
    with cluster.connected(None, 1, 0, "jax"):
        for name, value in cluster.PATIENCE.items():
            assert ray.environment[name] == (asked or value)
