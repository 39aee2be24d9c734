"""The command line of a recipe."""

import argparse
import os
import pathlib
import sys

import keras
import rich.console

from datasets import base
from datasets.base import DataError
from keras_duspar import startup
from tasks import TASKS
from trainer import config as configs
from trainer import distributed
from trainer import engine
from trainer.errors import TrainingError
from trainer.run_folder import RunFolder
from trainer.run_folder import environment


def main(task_class, arguments=None):
    """Runs a recipe.

    Args:
        task_class: The recipe's subclass of `Task`.
        arguments: List of strings, or `None` for those of the process.

    Returns:
        Integer, the exit code: 0, or 1 after an error that is explained.
    """
    console = rich.console.Console()
    job = None
    try:
        config, out, resume, processes = parse(task_class, arguments)
        use_backend(config)
        if processes.pop("distributed"):
            job = distributed.join(processes)
        folder = RunFolder(out)
        leads = job is None or job.leads
        if leads and not resume and (folder / "config.json").exists():
            raise TrainingError(
                f"`--out` must be a new folder. Received: {out}, which holds "
                "a run: go on with it by `--resume`, or name another folder."
            )
        task, result = train(
            task_class, config, folder, resume, console, job=job
        )
    except (TrainingError, DataError, ValueError) as error:
        if os.environ.get("KERAS_DUSPAR_DEBUG"):
            raise
        print(f"{pathlib.Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        return distributed.leave(job, 1)
    except KeyboardInterrupt:
        print("\nStopped. `--resume` goes on.", file=sys.stderr)
        return distributed.leave(job, 130)
    if result is not None:
        show(task, result, folder, console)
    return 0


def train(
    task_class, config, folder, resume, console, arguments=None, job=None
):
    """Trains a task in a run folder.

    Args:
        task_class: The recipe's subclass of `Task`.
        config: Its `Config`.
        folder: A `RunFolder`.
        resume: Boolean, whether the run was begun before.
        console: A `rich.console.Console`.
        arguments: List of strings, the command line to note in
            `environment.json`, or `None` for that of the process.
        job: A `distributed.Job`, or `None` to train alone.

    Returns:
        The `Task` and the dictionary of `result.json`.
    """
    task = task_class(config, progress=console.is_terminal)
    begin = None
    if job is None or job.leads:
        console.print(task.data.summary(), highlight=False, soft_wrap=True)

        def begin():
            # Only now: what is wrong with the settings can be mended in the
            # same folder.
            if not resume:
                folder.write_json("environment.json", environment(arguments))
            folder.write_json(
                "config.json",
                {**config.to_dict(), "labels": list(task.data.labels)},
            )

    return task, engine.run(task, folder, console, job, begin)


def open_run(run, tasks=tuple(TASKS), **changed):
    """The `Task` of a finished run.

    Args:
        run: Path of its folder.
        tasks: Names of the tasks that it may be for. Default: all.
        **changed: Settings that are not those of the run, such as `data`.
    """
    path = pathlib.Path(run)
    missing = base.missing_parts(path, ["config.json", "model.keras"])
    if missing:
        raise TrainingError(
            "`run` must be the folder of a finished run. Received: "
            f"run='{run}', which has no {' and no '.join(missing)}."
        )
    saved = configs.read(path / "config.json")
    name = saved.get("task")
    if name not in tasks:
        listed = " or ".join(f"{task}.py" for task in tasks)
        raise TrainingError(
            f"`run` must be a run of {listed}. Received: run='{run}', a run "
            f"of {name}.py."
        )
    task_class = TASKS[name].recipe_class()
    config = configs.make(task_class.config_class, {**saved, **changed})
    use_backend(config)
    return task_class(config, progress=sys.stderr.isatty())


def parse(task_class, arguments):
    """Reads the command line.

    Returns:
        The `Config`, the run folder's path, whether a run is to go on, and a
        dictionary of the flags of `distributed`.
    """
    config_class = task_class.config_class
    module = sys.modules[task_class.__module__]
    parser = argparse.ArgumentParser(
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", help="JSON or YAML file of settings")
    parser.add_argument(
        "--out", help="folder of the run (default: runs/ and a name)"
    )
    parser.add_argument(
        "--resume",
        nargs="?",
        const=True,
        metavar="FOLDER",
        help="go on with the run in FOLDER, or in --out",
    )
    configs.add_arguments(parser, config_class)
    distributed.add_arguments(parser)
    given = vars(parser.parse_args(arguments))
    job = {
        name: given.pop(name)
        for name in ("distributed", *distributed.VARIABLES)
    }
    file, out, resume = (
        given.pop(name) for name in ("config", "out", "resume")
    )
    named = isinstance(resume, str)
    if named:
        out, resume = resume, True
    if out:
        out = os.path.expanduser(out)
    if resume and out:
        # `--out` with `--resume` begins a run, too: a job that is started
        # again and again needs not know whether it has begun.
        resume = holds_run(out, may_be_new=not named)
    if not resume:
        config = configs.make(config_class, given, file)
        return config, out or f"runs/{config.name}", False, job
    if out is None:
        out = f"runs/{configs.make(config_class, given, file).name}"
    saved = configs.read(pathlib.Path(out) / "config.json")
    task = saved.get("task", config_class.task)
    if task != config_class.task:
        raise TrainingError(
            f"`--resume` must name a run of {config_class.task}.py. Received: "
            f"{out}, a run of {task}.py."
        )
    given = {**(configs.read(file) if file else {}), **given}
    given.pop("preset", None)  # its settings are in config.json
    changed = {
        name: value
        for name, value in given.items()
        if name in saved and saved[name] != value
    }
    if changed:
        raise TrainingError(
            "`--resume` must leave the settings as they are. Received: "
            + ", ".join(
                f"{name}={value!r} in place of {saved[name]!r}"
                for name, value in changed.items()
            )
            + "."
        )
    return configs.make(config_class, {**given, **saved}), out, True, job


def holds_run(out, may_be_new):
    """Whether there is a run to go on with in a folder.

    Args:
        out: Path of the folder.
        may_be_new: Boolean, whether an empty folder or none will do.
    """
    path = pathlib.Path(out)
    if (path / "config.json").is_file():
        return True
    problem = "which has no config.json"
    if not path.exists():
        problem = "which does not exist"
    elif not path.is_dir():
        problem, may_be_new = "which is a file", False
    elif any(path.iterdir()):
        may_be_new = False
    if not may_be_new:
        raise TrainingError(
            f"`--resume` must name the folder of a run. Received: {out}, "
            f"{problem}."
        )
    return False


def use_backend(config):
    """Starts the process anew if Keras runs on another backend."""
    current = keras.config.backend()
    if config.backend is None:
        config.backend = current
    if config.backend == current:
        return
    if os.environ.get("KERAS_BACKEND") == config.backend:
        raise TrainingError(
            f"Keras cannot use the backend {config.backend!r}. It uses "
            f"{current!r}."
        )
    problem = startup.problem(config.backend, "`--backend`")
    if problem:
        raise TrainingError(problem)
    # The backend is chosen when Keras is imported.
    os.environ["KERAS_BACKEND"] = config.backend
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def show(task, result, folder, console):
    """Prints what came out."""
    figures = {
        **task.headline(result["test"]),
        "parameters": f"{result['parameters']:,}",
        "MACs": f"{result['effective_macs'] / 1e6:.3f} of "
        f"{result['dense_macs'] / 1e6:.3f} M MAC/s, "
        f"{100 * result['occupancy']:.1f} %",
        "training": f"{result['seconds'] / 60:.1f} min, best epoch "
        f"{result['best_epoch']} of {result['epochs']}",
        "model": folder / "model.keras",
        "report": folder / "report.html",
    }
    width = max(map(len, figures))
    for name, text in figures.items():
        console.print(
            f"{name:>{width}}  {text}", highlight=False, soft_wrap=True
        )
