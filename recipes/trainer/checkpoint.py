"""All that a run needs to go on as if it had never stopped."""

import dataclasses
import json
import zipfile

import keras
import numpy as np

from trainer.errors import TrainingError

FILE = "checkpoint.npz"


@dataclasses.dataclass
class Progress:
    """How far a run has come.

    Attributes:
        step: Integer, steps that are done.
        sums: Dictionary, the sums of the training metrics since the epoch
            began.
        seconds: Float, time spent in this epoch so far.
        rows: List of dictionaries, the metrics of the epochs that are done.
        best: Dictionary, the row of the best epoch, or `None`.
        budget: Dictionary, the state of a budget's controller, or `None`.
    """

    step: int = 0
    sums: dict = dataclasses.field(default_factory=dict)
    seconds: float = 0.0
    rows: list = dataclasses.field(default_factory=list)
    best: dict | None = None
    budget: dict | None = None


def variables(model):
    """The variables of a compiled model and of its optimizer, in order."""
    optimizer = model.optimizer
    if not optimizer.built:
        optimizer.build(model.trainable_variables)
    metrics = {id(v) for v in model.metrics_variables}
    own = [v for v in model.variables if id(v) not in metrics]
    return [*own, *optimizer.variables]


def save(folder, model, progress):
    """Writes the checkpoint of a run.

    Args:
        folder: A `RunFolder`.
        model: The compiled model that is trained.
        progress: A `Progress`.
    """
    arrays = {
        f"variable_{i}": keras.ops.convert_to_numpy(variable)
        for i, variable in enumerate(variables(model))
    }
    text = json.dumps(dataclasses.asdict(progress))
    with folder.replacing(FILE) as path, open(path, "wb") as file:
        np.savez(file, progress=np.array(text), **arrays)


def read(folder):
    """The `Progress` and the arrays of a run; new and `None` without any."""
    path = folder / FILE
    if not path.exists():
        return Progress(), None
    try:
        with np.load(path) as saved:
            progress = Progress(**json.loads(str(saved["progress"])))
            arrays = [saved[f"variable_{i}"] for i in range(len(saved) - 1)]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise TrainingError(
            f"{path} is no checkpoint of a run ({error}). Start anew in "
            "another `--out`."
        ) from error
    return progress, arrays


def restore(folder, model, arrays):
    """Puts the arrays of a checkpoint into a model.

    Args:
        folder: A `RunFolder`.
        model: The compiled model, as it was built for the run.
        arrays: List of arrays, from `read()`.
    """
    targets = variables(model)
    shapes = [tuple(variable.shape) for variable in targets]
    if [array.shape for array in arrays] != shapes:
        raise TrainingError(
            f"{folder / FILE} holds another model than config.json describes. "
            "Start anew in another `--out`."
        )
    for variable, array in zip(targets, arrays):
        variable.assign(array)
