"""Compilers and runtimes that some tests need, if they can be had."""

import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

import pytest

from tests.conftest import ROOT

FOLDER = ROOT / "build" / "tools"


def npm_package(name, version):
    """The folder of a package from npm, fetched once; skips without."""
    folder = FOLDER / f"{name}-{version}"
    if folder.is_dir():
        return folder / "package"
    if shutil.which("npm") is None:
        pytest.skip(f"npm is needed to fetch {name} (Debian's npm)")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as work:
        done = subprocess.run(
            ["npm", "pack", "--silent", f"{name}@{version}"],
            cwd=work,
            capture_output=True,
            text=True,
        )
        archives = list(pathlib.Path(work).glob("*.tgz"))
        if done.returncode or not archives:
            pytest.skip(f"npm cannot fetch {name}: {done.stderr[-200:]}")
        fresh = pathlib.Path(work) / "fresh"
        with tarfile.open(archives[0]) as archive:
            archive.extractall(fresh, filter="data")
        try:
            os.rename(fresh, folder)
        except OSError:  # another process was faster
            if not folder.is_dir():
                raise
    return folder / "package"


def program(name, package):
    """The path of a program, or skips with the name of Debian's package."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is needed (Debian's {package})")
    return found


def run(*command, folder=None, given=None, **environment):
    """Runs a command that must succeed; returns what it printed."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**os.environ, **environment},
        input=given,
        capture_output=True,
    )
    output = done.stdout.decode(errors="replace")
    errors = done.stderr.decode(errors="replace")
    assert done.returncode == 0, output[-3000:] + errors[-3000:]
    return output
