"""Runs converted files in other versions of the TFLite runtimes.

    python tests/compat/run.py [--folder build/compat] [REQUIREMENT ...]

Files are converted here; each requirement, such as `ai-edge-litert==1.4.0`,
gets an environment of its own, in which `check.py` runs them.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import venv

import numpy as np

from keras_duspar import models
from keras_duspar import native
from keras_duspar import tflite

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The oldest and the newest that are promised to work.
RUNTIMES = (
    "ai-edge-litert==1.4.0",
    "ai-edge-litert==2.3.0",
    "tensorflow==2.16.2",
    "tensorflow==2.21.0",
)
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
    np.savez(folder / "expected.npz", **expected)


def check(requirement, folder):
    """Runs the files in an environment with the requirement."""
    environment = folder / requirement.replace("=", "-").strip("-")
    python = environment / "bin" / "python"
    if not python.exists():
        venv.create(environment, with_pip=True)
    # Keras needs a backend; JAX is the smallest.
    backend = "tensorflow" if "tensorflow" in requirement else "jax"
    packages = {requirement, backend if backend == "jax" else requirement}
    install = [python, "-m", "pip", "install", "--quiet", "keras>=3.13"]
    subprocess.run([*install, *sorted(packages)], check=True)
    return subprocess.run(
        [python, pathlib.Path(__file__).with_name("check.py"), folder],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "KERAS_BACKEND": backend,
            "KERAS_DUSPAR_LIBRARY": native.library_path(),
        },
    ).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("requirements", nargs="*", default=RUNTIMES)
    parser.add_argument(
        "--folder", type=pathlib.Path, default=ROOT / "build" / "compat"
    )
    args = parser.parse_args()
    folder = args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    convert_all(folder)
    failed = [r for r in args.requirements if check(r, folder)]
    sys.exit(f"failed: {failed}" if failed else 0)


if __name__ == "__main__":
    main()
