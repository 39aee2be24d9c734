"""Trained models that a run begins with."""

import pathlib

import keras

from keras_duspar.utils import archives
from trainer.errors import TrainingError


def start(task, model):
    """Prepares a new model: with trained weights, or with data.

    Args:
        task: A `Task`.
        model: The model.
    """
    if not task.config.start:
        task.adapt(model)
        return
    trained = load_model(task.config.start, "start")
    if _parts(trained) != _parts(model):
        raise TrainingError(
            "`--start` must name a run of the same task and model. Received: "
            f"{task.config.start}, {_described(trained)}, in place of "
            f"{_described(model)}."
        )
    model.set_weights(trained.get_weights())


def load_model(given, name):
    """The model that a setting names.

    Args:
        given: Path of a run folder or of a `.keras` file.
        name: String, the setting.
    """
    path = pathlib.Path(given).expanduser()
    file = path / "model.keras" if path.is_dir() else path
    problem = "where there is no model"
    if file.is_file():
        try:
            return archives.load_model(file)
        except Exception as error:  # of many kinds, for files of other kinds
            reason = (str(error).strip() or type(error).__name__).splitlines()
            problem = f"which is damaged or no model: {reason[0]}"
    raise TrainingError(
        f"`--{name}` must name a run or a .keras file. Received: {given}, "
        f"{problem}"
    )


def _parts(model):
    """The recurrent layers of a model, and the shapes of its weights."""
    layers = [
        type(layer).__name__
        for layer in model.layers
        if isinstance(layer, keras.layers.RNN)
    ]
    return layers, [tuple(weight.shape) for weight in model.weights]


def _described(model):
    """What a model is, in a few words."""
    layers, shapes = _parts(model)
    return (
        f"a {model.name} of {' and '.join(layers)} with {len(shapes)} weights "
        f"of {model.count_params():,} numbers"
    )
