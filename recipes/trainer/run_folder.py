"""The folder of a run: what is written, whole or not at all."""

import contextlib
import csv
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

from keras_duspar.utils import files
from trainer.errors import TrainingError

PACKAGES = ("keras", "tensorflow", "jax", "torch", "numpy", "keras-duspar")


class RunFolder:
    """Writes the files of a run.

    Every file is written beside its place and moved there once it is whole,
    so that a process that is killed or a disk that is full leaves the file
    that was there before.

    Args:
        path: The folder, made if there is none.
    """

    def __init__(self, path):
        self.path = pathlib.Path(path).expanduser()
        with self.writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            # Known now rather than after the first epoch.
            with tempfile.TemporaryFile(dir=self.path) as file:
                file.write(b"writable?")

    def __truediv__(self, name):
        return self.path / name

    @contextlib.contextmanager
    def writing(self, path):
        """Turns errors of the system into a message about the run."""
        try:
            yield
        except OSError as error:
            saved = self.path / "checkpoint.npz"
            kept = ""
            with contextlib.suppress(OSError):
                if saved.is_file():
                    kept = (
                        f" The last checkpoint, {saved}, is whole: make room, "
                        "then go on with `--resume`."
                    )
            raise TrainingError(
                f"{path} cannot be written: {error.strerror or error}.{kept}"
            ) from error

    @contextlib.contextmanager
    def replacing(self, name):
        """Yields the path to write to, in place of the file `name`."""
        target = self.path / name
        with self.writing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            with files.replacing(target) as path:
                yield path

    def write_text(self, name, text):
        with self.replacing(name) as path:
            path.write_text(text, encoding="utf-8")

    def write_json(self, name, value):
        self.write_text(name, json.dumps(value, indent=1) + "\n")

    def read_json(self, name):
        return json.loads((self.path / name).read_text(encoding="utf-8"))

    def write_csv(self, name, rows):
        """Writes dictionaries, whose keys may differ, as one table."""
        columns = list(dict.fromkeys(key for row in rows for key in row))
        with (
            self.replacing(name) as path,
            open(path, "w", newline="", encoding="utf-8") as file,
        ):
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)


def environment(command=None):
    """What a run depends on besides its settings.

    Args:
        command: List of strings, the command line, or `None` for that of the
            process.
    """
    versions = {}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return {
        "started": datetime.datetime.now(datetime.UTC).isoformat(
            timespec="seconds"
        ),
        "command": command or sys.argv,
        "git_revision": git_revision(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        **versions,
    }


def git_revision():
    """The commit of the recipes, marked if files differ, or `None`."""
    folder = pathlib.Path(__file__).parent

    def git(*arguments):
        return subprocess.run(
            ["git", *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    try:
        revision = git("rev-parse", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{revision}{'-changed' if changed else ''}"
