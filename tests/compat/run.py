"""Runs the package in the oldest and the newest environments.

    python tests/compat/run.py [--folder build/compat] [NAME ...]

Files are converted here. Each set of versions gets an environment of its own,
in which these and the kept files are run, and where there is TensorFlow, a
model is trained and converted, too. A set whose Python is not found is left
out, and the end says so. The table that is printed last is the README's.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
from dataclasses import dataclass

import numpy as np

from keras_duspar import models
from keras_duspar import native
from keras_duspar import tflite

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).parent


@dataclass
class Set:
    """Versions that are promised to work together.

    Args:
        python: String, the version of Python.
        requirements: Tuple of strings, for pip.
        programs: Tuple of strings, what is run beside `check.py`.
        backend: String, Keras' backend.
    """

    python: str
    requirements: tuple
    programs: tuple = ("smoke.py",)
    backend: str = "tensorflow"


NEWEST = ("keras", "tensorflow==2.21.0", "ai-edge-litert==2.3.0")
SETS = {
    "oldest": Set(
        "3.11",
        (
            "keras==3.13.*",
            "numpy==1.26.*",
            "tensorflow==2.16.2",
            "ai-edge-litert==1.1.2",
            "tensorflow-io==0.37.1",
            "soundfile",
            "soxr",
        ),
        ("smoke.py", "flac.py"),
    ),
    # With Python 3.11 this is what `make test` uses.
    "newest-3.12": Set("3.12", NEWEST),
    "newest-3.13": Set("3.13", NEWEST),
    # Runtimes alone: Keras needs a backend, and JAX is the smallest.
    "litert-1.4": Set(
        "3.11", ("keras", "jax", "ai-edge-litert==1.4.0"), (), "jax"
    ),
    # Without LiteRT the interpreter is TensorFlow's.
    "tensorflow-2.16": Set("3.11", ("keras==3.13.*", "tensorflow==2.16.2")),
    # The oldest that converts to sparse operators.
    "tensorflow-2.18": Set("3.11", ("keras==3.13.*", "tensorflow==2.18.1")),
}
# What the installed versions of a set are asked for, in the table's order.
COLUMNS = ("keras", "tensorflow", "ai-edge-litert", "jax")
VERSIONS = f"""
import importlib.metadata, json, platform
found = {{p.metadata["Name"]: p.version
         for p in importlib.metadata.distributions()}}
print(json.dumps([platform.python_version()]
                 + [found.get(name, "-") for name in {COLUMNS}]))
"""
BUILDERS = {
    "spotter": models.keyword_spotter,
    "recognizer": models.intent_recognizer,
    "enhancer": models.speech_enhancer,
}


def convert_all(folder):
    """Writes files of every kind, an input and the expected outputs."""
    rng = np.random.default_rng(0)
    audio = rng.normal(0, 0.1, (2, 8192)).astype("float32")
    expected = {"audio": audio}
    for name, build in BUILDERS.items():
        model = build("duspar", 24)
        for weight in model.trainable_weights:
            weight.assign(rng.normal(0, 0.3, weight.shape))
        expected[name] = model.predict(audio, verbose=0)
        for streaming in (False, True):
            for ops in ("sparse", "builtin"):
                kind = "stream" if streaming else "whole"
                path = folder / f"{name}-{kind}-{ops}.tflite"
                tflite.convert(
                    model,
                    path,
                    streaming=streaming,
                    ops=ops,
                    count=ops == "builtin",
                )
    for name in models.presets():
        for streaming in (False, True):
            runner = tflite.load(name, streaming=streaming)
            kind = "stream" if streaming else "whole"
            expected[f"preset {name} {kind}"] = runner(audio[:1])
    np.savez(folder / "expected.npz", **expected)


def find_python(version):
    """A Python of this version: on the path, or one that pyenv keeps."""
    if version == ".".join(map(str, sys.version_info[:2])):
        return sys.executable
    kept = pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
    return next((str(path) for path in sorted(kept)), None) or shutil.which(
        f"python{version}"
    )


def make_environment(name, chosen, folder):
    """Python of the set's environment, or `None` without such a Python."""
    environment = folder / f"env-{name}"
    python = environment / "bin" / "python"
    if not python.exists():
        base = find_python(chosen.python)
        if base is None:
            return None
        subprocess.run([base, "-m", "venv", environment], check=True)
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "pytest"]
        + list(chosen.requirements),
        check=True,
    )
    return python


def check(name, chosen, folder):
    """Runs a set; returns its versions and "ok", or why it is not."""
    print(f"== {name}", flush=True)
    python = make_environment(name, chosen, folder)
    if python is None:
        return [chosen.python], f"left out: no Python {chosen.python}"
    versions = json.loads(subprocess.check_output([python, "-c", VERSIONS]))
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'recipes'}",
        "KERAS_BACKEND": chosen.backend,
        "KERAS_DUSPAR_LIBRARY": native.library_path(),
    }
    commands = [
        [python, HERE / "check.py", folder],
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/kept"],
        *([python, HERE / program] for program in chosen.programs),
    ]
    failed = [
        command[1].name if command[1] != "-m" else "tests/kept"
        for command in commands
        if subprocess.run(command, cwd=ROOT, env=environment).returncode
    ]
    return versions, f"FAILED: {', '.join(failed)}" if failed else "ok"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=str([*SETS]))
    parser.add_argument(
        "--folder", type=pathlib.Path, default=ROOT / "build" / "compat"
    )
    args = parser.parse_args()
    unknown = set(args.names) - set(SETS)
    if unknown:
        parser.error(f"`NAME` must be of {[*SETS]}, not {sorted(unknown)}")
    folder = args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    convert_all(folder)
    results = {
        name: check(name, SETS[name], folder) for name in args.names or SETS
    }
    print(f"\n| set | Python | {' | '.join(COLUMNS)} | result |")
    print("|---" * (len(COLUMNS) + 3) + "|")
    for name, (versions, result) in results.items():
        versions += [""] * (len(COLUMNS) + 1 - len(versions))
        print(f"| {' | '.join([name, *versions, result])} |")
    sys.exit(any("FAILED" in result for _, result in results.values()))


if __name__ == "__main__":
    main()
