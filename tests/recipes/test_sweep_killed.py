"""Sweeps whose trials and drivers are killed, on a real Ray."""

import csv
import os
import signal
import subprocess
import sys
import time

import keras
import pytest

from tests.conftest import ROOT
from tests.recipes.fake_sweep import write_grid

pytestmark = pytest.mark.any_backend

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


def stamps(folder):
    """When each file of a folder was written."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path: path.stat().st_mtime_ns for path in files}


def undisturbed(command, out):
    """The rows of the same trials, trained here, one after the other."""
    import sweep
    from sweeping import grid
    from sweeping import results
    from sweeping import trial as trials
    from tasks import TASKS

    options, settings = sweep.parse([*command[2:], str(out)])
    settings["backend"] = "tensorflow"
    rows = []
    config_class = TASKS["kws"].recipe_class().config_class
    for trial in grid.trials(config_class, options.grid, settings):
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
    prepared = stamps(tmp_path / "cache")
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
    assert "going on after step" in (victim / "log.txt").read_text()
    assert model.stat().st_mtime == stamp  # what was done is not done again
    assert stamps(tmp_path / "cache") == prepared != {}
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


def drive_elsewhere(address, folder):
    """What a driver says that asks a cluster for what it does not have."""
    words = f"--task kws --grid quick --address {address} --gpus 64 "
    words += f"--out {folder / 'elsewhere'} --cache {folder / 'cache'}"
    done = subprocess.run(
        [sys.executable, str(ROOT / "recipes" / "sweep.py"), *words.split()],
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert not (folder / "cache").exists()  # before data is prepared
    return done.stderr


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
    from trainer.run_folder import RunFolder

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
        address = ray.get_runtime_context().gcs_address
        message = drive_elsewhere(address, tmp_path)
        assert "1 and 64 per trial, while the nodes have" in message
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
