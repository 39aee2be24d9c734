"""Sweeps: bad grids, and trials and drivers that are killed."""

import csv
import os
import pathlib
import signal
import subprocess
import sys
import time

import keras
import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.any_backend

GRID = """
models:
  duspar: {units: [8]}
  delta_gru: {units: [8], theta: [0.1]}
seeds: [0, 1]
settings: {epochs: 2, sizes: [70, 35, 35], batch_size: 14}
"""
# A trial for each of two workers, as small as they can be.
SMALL_GRID = """
models:
  delta_gru: {units: [8], theta: [0.1]}
seeds: [0, 1]
settings: {epochs: 2, sizes: [70, 35, 35], batch_size: 14, num_layers: 1}
"""
# What no two runs have in common.
TIMES = {
    "seconds",
    "ms_per_frame",
    "ms_per_frame_p99",
    "real_time_factor",
    "run",
}


def write_grid(folder, text=GRID):
    path = folder / "grid.yaml"
    path.write_text(text)
    return path


@pytest.fixture
def command(tmp_path):
    """The command line of a sweep, without its folder."""
    grid = write_grid(tmp_path, SMALL_GRID)
    words = f"--task kws --grid {grid} --cache {tmp_path / 'cache'} "
    words += "--checkpoint-steps 1 --workers 2 --measure-seconds 0.1"
    program = ROOT / "recipes" / "sweep.py"
    return [sys.executable, str(program), *words.split(), "--out"]


def environment():
    # By default Ray's workers stand back behind all else that runs.
    return {
        **os.environ,
        "KERAS_BACKEND": "tensorflow",
        "RAY_worker_niceness": "0",
    }


def wait_for(process, condition, seconds=1200):
    until = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.02)


def table(out):
    with open(out / "results.csv", newline="") as file:
        return list(csv.DictReader(file))


def undisturbed(command, out):
    """The rows of the same trials, trained here, one after the other."""
    import sweep
    from sweeping import grid
    from sweeping import results
    from sweeping import trial as trials

    options, settings = sweep.parse([*command[2:], str(out)])
    settings["backend"] = "tensorflow"
    rows = []
    for trial in grid.trials(
        trials.TASKS["kws"].config_class, options.grid, settings
    ):
        path = out / "runs" / trial.name
        job = "kws", trial.config.to_dict(), path, ["sweep.py"]
        assert trials.run(*job) is None
        rows.append(results.row(trial, path))
    return rows


@pytest.mark.nightly
@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="compared with trials in this process, on the same backend",
)
def test_killed_trial_and_killed_driver_give_the_same_table(command, tmp_path):
    expected = undisturbed(command, tmp_path / "undisturbed")
    out, log = tmp_path / "disturbed", tmp_path / "log.txt"
    with open(log, "w") as file:

        def start():
            return subprocess.Popen(
                [*command, str(out)],
                stdout=file,
                stderr=file,
                env=environment(),
            )

        driver = start()
        try:
            victim = out / "runs" / expected[0]["trial"]
            wait_for(driver, (victim / "checkpoint.npz").exists)
            os.kill(int((victim / "worker.pid").read_text()), signal.SIGKILL)
            wait_for(driver, (out / "results.parquet").exists)
        finally:
            driver.kill()
            driver.wait()
        assert f"{victim.name} died (1)" in log.read_text()
        assert "goes on from its checkpoint" in log.read_text()
        (before,) = table(out)
        assert before["trial"] == expected[1]["trial"]
        model = out / before["run"] / "model.keras"
        stamp = model.stat().st_mtime
        assert start().wait() == 0, log.read_text()

    assert "2 of 2 trials" in log.read_text()
    assert model.stat().st_mtime == stamp  # what was done is not done again
    found = table(out)
    for row, other in zip(found, expected, strict=True):
        for column in other.keys() - TIMES:
            wanted = other[column]
            if isinstance(wanted, float):
                assert float(row[column]) == pytest.approx(wanted, rel=1e-5)
            else:
                assert row[column] == str("" if wanted is None else wanted)
        assert set(row) - set(other) <= TIMES | {"file_bytes"}
    check_columns(found)
    check_parquet(out, found)


def check_columns(rows):
    first = rows[0]
    assert float(first["ms_per_frame"]) > 0
    assert 0 < float(first["occupancy"]) < 1
    dense = float(first["dense_macs"])
    assert float(first["effective_macs"]) == pytest.approx(
        float(first["occupancy"]) * dense
    )
    operands = [c for c in first if c.startswith("occupancy/recurrent")]
    assert len(operands) == 2
    assert first["options"] == '{"theta": 0.1}'
    for column in ("epochs", "batch_size", "version/keras", "test/accuracy"):
        assert first[column] != "", column
    assert first["status"] == "finished"


def check_parquet(out, rows):
    import pyarrow.parquet

    typed = pyarrow.parquet.read_table(out / "results.parquet").to_pylist()
    assert [row["trial"] for row in typed] == [row["trial"] for row in rows]
    for row, text in zip(typed, rows):
        assert row["test/accuracy"] == float(text["test/accuracy"])
        assert row["units"] == int(text["units"])


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
        assert "must be one of curve, paper, quick" in error(
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

    def test_two_drivers(self, error, tmp_path):
        from sweeping.trial import only_one
        from training.run_folder import RunFolder

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


def test_trials_whose_process_dies(tmp_path, monkeypatch):
    """Taken up again as often as allowed, by a real Ray, without training."""
    import io

    import rich.console

    import kws
    from sweeping import cluster
    from sweeping import grid
    from sweeping import trial as trials
    from sweeping.driver import Sweep
    from sweeping.monitor import Monitor
    from training import TrainingError
    from training.run_folder import RunFolder

    def die_as_often_as_the_seed(task, settings, path, arguments):
        import os
        import signal

        path.mkdir(parents=True, exist_ok=True)
        with open(path / "lives", "a+") as lives:
            lives.seek(0)
            count = len(lives.read())
            lives.write(".")
        if count < settings["seed"]:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"{arguments} ended in life {count + 1}"

    monkeypatch.setattr(trials, "run", die_as_often_as_the_seed)
    monkeypatch.setenv("RAY_worker_niceness", "0")
    text = "models: {duspar: {units: [8]}}\nseeds: [0, 1, 9]"
    planned = grid.trials(kws.Config, write_grid(tmp_path, text))
    sweep = Sweep(planned, RunFolder(tmp_path / "out"), "a trial")
    console = rich.console.Console(file=io.StringIO(), width=200)
    with cluster.connected(None, 0.5, 0, "jax") as ray:
        with pytest.raises(TrainingError, match="1 and 64 a trial, while"):
            cluster.check_resources(ray, 1, 64)
        with Monitor(console) as monitor:
            sweep.run(ray, monitor, workers=3, retries=2, cpus=0.5, gpus=0)
    errors = [sweep.failed[trial.name] for trial in planned]
    assert errors[0] == "a trial ended in life 1"
    assert errors[1] == "a trial ended in life 2"
    assert errors[2].startswith("The process of the trial ended 3 times")
    assert [len((sweep.path(t) / "lives").read_text()) for t in planned] == [
        1,
        2,
        3,
    ]
    shown = console.file.getvalue()
    assert "duspar-8-seed1 died (1)" in shown
    assert "goes on from its checkpoint" in shown
    assert "duspar-8-seed9 died (3)" in shown and "is given up" in shown
    assert [row["status"] for row in table(tmp_path / "out")] == ["failed"] * 3


def test_progress_and_time_left(tmp_path):
    import io

    import rich.console

    import kws
    from sweeping import grid
    from sweeping import monitor
    from sweeping.driver import Sweep
    from training.run_folder import RunFolder

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
