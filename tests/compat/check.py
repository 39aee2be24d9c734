"""Runs the files of `run.py` in the runtime of this environment."""

import importlib.metadata
import pathlib
import sys

import numpy as np

from keras_duspar import tflite
from keras_duspar.tflite.runtime import find_runtime


def version():
    for package in ("ai-edge-litert", "tensorflow"):
        try:
            return f"{package} {importlib.metadata.version(package)}"
        except importlib.metadata.PackageNotFoundError:
            continue
    raise RuntimeError("no runtime is installed")


def run_alone(path, audio):
    """The delegate in an interpreter, without this package's runner."""
    interpreter_class, load_delegate = find_runtime()
    interpreter = interpreter_class(
        str(path),
        experimental_delegates=[load_delegate(tflite.delegate_path())],
    )
    outputs = interpreter.get_signature_runner("predict")(audio=audio)
    return next(iter(outputs.values()))


def check_presets(expected):
    """Runs the pretrained files; returns how many give something else."""
    failed = 0
    for key in expected.files:
        if not key.startswith("preset "):
            continue
        _, name, kind = key.split()
        runner = tflite.load(name, streaming=kind == "stream")
        y = expected[key]
        error = (
            np.abs(runner(expected["audio"][:1]) - y).max() / np.abs(y).max()
        )
        failed += not error < 1e-4
        print(
            f"{version()}: {name} {kind}: error {error:.1e}: "
            f"{'ok' if error < 1e-4 else 'FAILED'}"
        )
    return failed


def main(folder):
    expected = np.load(folder / "expected.npz")
    audio, failed = expected["audio"], check_presets(expected)
    occupancy = {}
    for path in sorted(folder.glob("*.tflite")):
        name, kind, ops = path.stem.split("-")
        runner = tflite.load(path)
        error = np.abs(runner(audio) - expected[name]).max()
        if (kind, ops) == ("whole", "sparse"):
            alone = np.abs(run_alone(path, audio) - expected[name]).max()
            error = max(error, alone)
        found = runner.profile().occupancy
        first = occupancy.setdefault(name, found)
        good = error < 1e-5 and abs(found - first) < 1e-3 * first
        failed += not good
        print(
            f"{version()}: {path.stem}: error {error:.1e}, occupancy "
            f"{100 * found:.2f} %: {'ok' if good else 'FAILED'}"
        )
    return failed or not occupancy


if __name__ == "__main__":
    sys.exit(bool(main(pathlib.Path(sys.argv[1]))))
