"""Conversion while Keras runs on another backend than TensorFlow.

The backend of a process is fixed when Keras is imported, so the conversion
runs in a second process, to which the model goes as a `.keras` file.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import keras


def convert(model, path, options):
    """Converts in a process on the TensorFlow backend.

    Args:
        model: The model, or the `pathlib.Path` of a `.keras` file.
        path: `pathlib.Path` of the file to write.
        options: Dictionary of the other arguments of `convert()`.

    Returns:
        The path.
    """
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        source = model
        if isinstance(model, keras.Model):
            source = folder / "model.keras"
            model.save(source)
        job = {
            "model": str(source.resolve()),
            "path": str(path.resolve()),
            "options": options,
            "problem": str(folder / "problem.json"),
        }
        environment = {
            **os.environ,
            "KERAS_BACKEND": "tensorflow",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        done = subprocess.run(
            [sys.executable, "-m", __name__, json.dumps(job)],
            env=environment,
        )
        problem = pathlib.Path(job["problem"])
        if problem.exists():
            raise ValueError(json.loads(problem.read_text()))
        if done.returncode:
            raise RuntimeError(
                "The conversion in a process on the TensorFlow backend ended "
                f"with status {done.returncode}; what it wrote is above."
            )
    return path


def main(job):
    """What the second process does."""
    from keras_duspar.tflite.converter import convert  # noqa: PLC0415

    job = json.loads(job)
    try:
        convert(job["model"], job["path"], **job["options"])
    except ValueError as e:
        pathlib.Path(job["problem"]).write_text(json.dumps(str(e)))


if __name__ == "__main__":
    main(sys.argv[1])
