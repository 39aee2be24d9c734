"""One model on two processes: the same curve, deaths, and going on."""

import csv
import os
import signal
import socket
import subprocess
import sys

import keras
import numpy as np
import pytest

from tests.conftest import ROOT

SMALL = (
    "--sizes 70 35 35 --batch-size 14 --units 8 --num-layers 1 --epochs 3 "
    "--checkpoint-steps 1 --backend jax"
)
only_jax = pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="distribution is JAX's"
)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def words(out, cache, *arguments):
    words = [*SMALL.split(), "--out", out, "--cache", cache, *arguments]
    return [str(word) for word in words]


def start(out, cache, *arguments, killed_at=None, **variables):
    environment = {**os.environ, "KERAS_BACKEND": "jax"}
    environment |= {name: str(value) for name, value in variables.items()}
    program = [ROOT / "recipes" / "kws.py", *words(out, cache, *arguments)]
    if killed_at:
        killer = ROOT / "tests" / "recipes" / "killed.py"
        program = [killer, str(killed_at), *program]
    return subprocess.Popen(
        [sys.executable, *program],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def start_two(out, cache, *arguments, killed=None):
    """One process is told by arguments, the other by its environment.

    `killed` is the number of the process that ends in the second epoch.
    """
    address = f"127.0.0.1:{free_port()}"
    first = f"--distributed --coordinator {address} --processes 2 --process 0"
    steps = [6 if number == killed else None for number in range(2)]
    return [
        start(out, cache, *first.split(), *arguments, killed_at=steps[0]),
        start(
            out,
            cache,
            "--distributed",
            *arguments,
            killed_at=steps[1],
            JAX_COORDINATOR_ADDRESS=address,
            JAX_NUM_PROCESSES=2,
            JAX_PROCESS_ID=1,
        ),
    ]


def end(processes, seconds=1200):
    """Waits for processes; returns their exit codes and messages."""
    errors = [process.communicate(timeout=seconds)[1] for process in processes]
    return [process.returncode for process in processes], errors


def train_alone(out, cache, *arguments):
    import kws
    import trainer

    task = kws.KeywordSpotting
    assert trainer.main(task, words(out, cache, *arguments)) == 0


def kill_one(number, out, cache):
    """A run on two processes of which one ends in the second epoch."""
    codes, errors = end(start_two(out, cache, killed=number))
    other = 1 - number
    assert codes[number] == -signal.SIGKILL
    assert codes[other] == 1, errors[other]
    assert "another process of the job has ended" in errors[other]
    assert "`--resume`" in errors[other]
    assert "Traceback" not in errors[other]
    assert not (out / "result.json").exists()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The folder of a run of one process, with the cache beside it."""
    out = tmp_path_factory.mktemp("distributed") / "alone"
    train_alone(out, out.parent / "cache")
    return out


def check_same(out, alone):
    """Both runs have the same loss curve, and end with the same weights."""
    rows = []
    for folder in (out, alone):
        with open(folder / "metrics.csv", newline="") as file:
            rows.append(list(csv.DictReader(file)))
    for row, other in zip(*rows, strict=True):
        for name in ("loss", "val_loss", "occupancy", "learning_rate"):
            np.testing.assert_allclose(
                float(row[name]), float(other[name]), rtol=1e-4, err_msg=name
            )
    with (
        np.load(out / "checkpoint.npz") as saved,
        np.load(alone / "checkpoint.npz") as other,
    ):
        for name in set(other) - {"progress"}:
            np.testing.assert_allclose(
                saved[name], other[name], rtol=1e-2, atol=1e-4, err_msg=name
            )


@only_jax
def test_leader_killed_and_resumed_by_one_process(alone, tmp_path):
    cache, out = alone.parent / "cache", tmp_path / "out"
    kill_one(0, out, cache)
    train_alone(out, cache, "--resume")
    check_same(out, alone)


@only_jax
@pytest.mark.nightly
def test_killed_and_resumed_like_a_single_process(alone, tmp_path):
    cache, out = alone.parent / "cache", tmp_path / "out"
    kill_one(1, out, cache)
    codes, errors = end(start_two(out, cache, "--resume"))
    assert codes == [0, 0], errors
    check_same(out, alone)
    assert (out / "result.json").exists()


@pytest.mark.any_backend
def test_aborted_by_jax():
    """JAX may find out first, and ends a process from a thread of its own."""
    code = (
        "import ctypes, threading, time\n"
        "from trainer.distributed import explain_abort\n"
        "explain_abort()\n"
        "abort = ctypes.CDLL(None).abort\n"
        "threading.Thread(target=abort).start()\n"
        "time.sleep(100)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT / "recipes",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "another process of the job has ended" in done.stderr


@pytest.mark.any_backend
def test_only_the_leader_writes(tmp_path):
    import io

    import rich.console

    import kws
    from trainer import config as configs
    from trainer import distributed
    from trainer import engine
    from trainer.run_folder import RunFolder

    class Helper(distributed.Alone):
        leads = False

    settings = {"sizes": [70, 35, 35], "batch_size": 35, "epochs": 1}
    settings |= {"units": 4, "num_layers": 1, "checkpoint_steps": 1}
    settings["cache"] = str(tmp_path / "cache")
    task = kws.KeywordSpotting(
        configs.make(kws.Config, settings), progress=False
    )
    folder = RunFolder(tmp_path / "out")
    console = rich.console.Console(file=io.StringIO())
    assert engine.run(task, folder, console, Helper()) is None
    assert not list(folder.path.iterdir())


class TestBadInput:
    @pytest.fixture
    def error(self, monkeypatch):
        from trainer import TrainingError
        from trainer import distributed

        for names in distributed.VARIABLES.values():
            for name in names:
                monkeypatch.delenv(name, raising=False)

        def run(**given):
            given = dict.fromkeys(distributed.VARIABLES) | given
            with pytest.raises(TrainingError) as caught:
                distributed.join(given)
            return str(caught.value)

        return run

    @pytest.mark.skipif(
        keras.backend.backend() == "jax", reason="a message of the others"
    )
    def test_backend(self, error):
        assert "`--distributed` needs `--backend jax`" in error()

    @pytest.mark.skipif(
        keras.backend.backend() != "jax", reason="asked of JAX alone"
    )
    def test_arguments(self, error, monkeypatch):
        message = error(coordinator="127.0.0.1:1", processes=2)
        assert "Missing: `--process`" in message
        monkeypatch.setenv("JAX_PROCESS_ID", "first")
        assert "JAX_PROCESS_ID must be an integer" in error()

    @pytest.mark.any_backend
    @pytest.mark.parametrize(
        "coordinator, process, words",
        [
            ("localhost", 1, "`--coordinator` must be HOST:PORT"),
            ("127.0.0.1:1", 2, r"`--process` must lie in \[0, 2\)"),
            ("127.0.0.1:1", 1, "Process 0 does not listen"),
        ],
    )
    def test_coordinator(self, coordinator, process, words):
        from trainer import TrainingError
        from trainer.distributed import find_coordinator

        with pytest.raises(TrainingError, match=words):
            find_coordinator(coordinator, 2, process, patience=0)

    @pytest.mark.any_backend
    def test_batch_size(self):
        from trainer import TrainingError
        from trainer.distributed import Job

        class Batches:
            batch_size = 7

        with pytest.raises(
            TrainingError, match="multiple of .* 2. Received: 7"
        ):
            Job(None, 0, 2, 2).share(Batches())
