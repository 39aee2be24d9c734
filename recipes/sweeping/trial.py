"""One trial: what a worker of the sweep does, in a process of Ray."""

import contextlib
import fcntl
import os
import time
import traceback

import rich.console

from sweeping import speed
from tasks import TASKS
from trainer import command
from trainer import config as configs
from trainer.errors import TrainingError
from trainer.run_folder import RunFolder

LOCK = "worker.pid"
LOG = "log.txt"


def finished(path):
    """Whether the run in a folder has all that the table needs."""
    return all((path / n).is_file() for n in ("result.json", speed.DEPLOYED))


def run(task, settings, path, arguments):
    """Trains and converts a model, or goes on where a worker was stopped.

    Args:
        task: String, `"kws"`, `"slu"` or `"se"`.
        settings: Dictionary, the settings of the run.
        path: `pathlib.Path` of the run folder.
        arguments: List of strings, the command line of the sweep.

    Returns:
        `None`, or what went wrong as a string.
    """
    try:
        folder = RunFolder(path)
        with only_one(folder), open(folder / LOG, "a") as log:
            console = rich.console.Console(file=log, width=100)
            if (folder / "result.json").is_file():
                console.print("Trained already.")
            else:
                recipe = TASKS[task].recipe_class()
                config = configs.make(recipe.config_class, settings)
                resume = (folder / "config.json").is_file()
                command.train(
                    recipe, config, folder, resume, console, arguments
                )
            speed.deploy(folder)
    except Exception as error:
        # Whatever it is, the other trials can go on.
        with contextlib.suppress(OSError), open(path / LOG, "a") as log:
            log.write(traceback.format_exc())
        return f"{type(error).__name__}: {error}"
    return None


@contextlib.contextmanager
def only_one(folder, patience=120):
    """Keeps other processes out of a folder, or waits for their end.

    The system lets go of the lock when a process ends, however it ends.

    Args:
        folder: A `RunFolder`.
        patience: Seconds to wait: a worker that was killed may take a while.
            Default: 120.
    """
    with open(folder / LOCK, "a+") as file:
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise TrainingError(
                        f"Another process is at work in {folder.path}: its id "
                        f"is in {LOCK}."
                    ) from None
                time.sleep(0.5)
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
