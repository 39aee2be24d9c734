"""A grid of trainings on Ray: the trade-off of every model at every width.

    python recipes/sweep.py --task kws --grid quick
    python recipes/sweep.py --task kws --grid paper --data speech_commands \\
        --address auto --gpus 0.25

Each trial is a run of the recipe, in `runs/` of the sweep's folder. Trials
that die go on from their checkpoint; a sweep that was stopped goes on when the
same command is given again. At the end the models are timed in the
interpreter. The table of all trials is in `results.csv` and
`results.parquet`; `python recipes/report.py FOLDER` draws it.
"""

import argparse
import dataclasses
import os
import pathlib
import sys

import prepare  # noqa: F401 - before Keras is imported

# isort: split
import keras
import rich.console

from datasets.base import DataError
from keras_duspar.utils import checks
from sweeping import cluster
from sweeping import grid as grids
from sweeping import speed
from sweeping.driver import Sweep
from sweeping.monitor import Monitor
from sweeping.trial import only_one
from tasks import TASKS
from trainer import config as configs
from trainer.config import setting
from trainer.errors import TrainingError
from trainer.run_folder import RunFolder


@dataclasses.dataclass(kw_only=True)
class Options:
    """Settings of a sweep; all others are those of its trials."""

    task: str = setting(None, "the recipe", choices=tuple(TASKS), required=True)
    grid: str = setting(
        None,
        "paper, quick, or a YAML file like those in recipes/grids",
        required=True,
    )
    out: str | None = setting(
        None, "folder of the sweep (default: sweeps/ and a name)"
    )
    address: str | None = setting(None, "a Ray cluster; this machine if absent")
    cpus: float = setting(1.0, "cores per trial")
    gpus: float = setting(0.0, "GPUs per trial")
    workers: int | None = setting(
        None,
        "the most trials at a time; all that there is room for if absent",
    )
    retries: int = setting(3, "how often a trial that dies is taken up again")
    measure_seconds: float = setting(1.5, "how long each model is timed")


def main(arguments=None):
    """Runs the program; returns its exit code."""
    options, settings = parse(arguments)
    try:
        return run(options, settings)
    except (TrainingError, DataError, ValueError, ImportError) as error:
        if os.environ.get("KERAS_DUSPAR_DEBUG"):
            raise
        print(f"sweep.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. The same command goes on.", file=sys.stderr)
        return 130


def parse(arguments):
    """Reads the command line.

    Returns:
        `Options`, and a dictionary of the recipe's settings.
    """
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    configs.add_arguments(parser, Options)
    # Which settings there are depends on the task.
    task = argparse.ArgumentParser(add_help=False)
    task.add_argument("--task")
    task = task.parse_known_args(arguments)[0].task
    configs.add_arguments(
        parser.add_argument_group("settings of all trials"),
        TASKS.get(task, TASKS["kws"]).recipe_class().config_class,
        without=grids.SWEPT,
    )
    settings = vars(parser.parse_args(arguments))
    own = {field.name for field in dataclasses.fields(Options)} & {*settings}
    return Options(**{name: settings.pop(name) for name in own}), settings


def run(options, settings):
    """Checks everything, then trains and measures what is missing."""
    checks.number("cpus", options.cpus, "(0, inf)")
    checks.number("gpus", options.gpus, "[0, inf)")
    checks.number("retries", options.retries, "[0, inf)")
    checks.number("measure_seconds", options.measure_seconds, "(0, inf)")
    if options.workers is not None:
        checks.positive_integer("workers", options.workers)
    task_class = TASKS[options.task].recipe_class()
    file = grids.find(options.task, options.grid)
    settings.setdefault("backend", keras.config.backend())
    trials = grids.trials(task_class.config_class, file, settings)
    name = pathlib.Path(options.grid).stem.removeprefix(f"{options.task}-")
    # Workers begin elsewhere.
    path = pathlib.Path(options.out or f"sweeps/{options.task}-{name}")
    out = RunFolder(path.expanduser().resolve())
    console = rich.console.Console()
    with only_one(out, patience=0), Monitor(console) as monitor:
        sweep = Sweep(trials, out, sys.argv)
        monitor.print(f"{len(trials)} trials in {out.path}")
        with cluster.connected(
            options.address, options.cpus, options.gpus, settings["backend"]
        ) as ray:
            # Once, before any trial: they all find it in the cache.
            task = task_class(trials[0].config, progress=console.is_terminal)
            monitor.print(task.data.summary())
            sweep.run(
                ray,
                monitor,
                options.workers,
                options.retries,
                options.cpus,
                options.gpus,
            )
        # Nothing else runs now.
        audio = speed.recordings(task)
        sweep.measure(audio, options.measure_seconds, monitor)
    monitor.print(f"Results: {out / 'results.csv'}, results.parquet")
    for name, error in sweep.failed.items():
        print(f"sweep.py: {name} failed: {error}", file=sys.stderr)
    return 1 if sweep.failed else 0


if __name__ == "__main__":
    sys.exit(main())
