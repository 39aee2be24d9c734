"""Pretrained models that lie in the package: their names, files and cards.

Needs no Keras, so that their `.tflite` files run without it.
"""

import json
import pathlib

from keras_duspar.utils import archives
from keras_duspar.utils import checks

FOLDER = pathlib.Path(__file__).parent.parent / "presets"
CARD = "card.json"
KERAS = "model.keras"
WHOLE = "model.tflite"
STREAMING = "streaming.tflite"
FILES = (CARD, KERAS, WHOLE, STREAMING)


def presets():
    """The pretrained models that come with the package.

    Returns:
        A dictionary of name to a description in one line. `preset_card()`
        tells more, and `from_preset()` and `keras_duspar.tflite.load()` load
        them.

    Example:

    ```python
    for name, description in keras_duspar.models.presets().items():
        print(name, description)
    ```
    """
    folders = (path.parent for path in FOLDER.glob(f"*/{CARD}"))
    cards = (preset_card(folder.name) for folder in sorted(folders))
    return {card["name"]: card["description"] for card in cards}


def preset_card(name):
    """What is known of a pretrained model.

    Args:
        name: String, one of `presets()`.

    Returns:
        A dictionary: task, labels, the data with its license, how it was
        trained, what was measured and on how many recordings, costs and
        limits.
    """
    return json.loads((preset_folder(name) / CARD).read_text("utf-8"))


def from_preset(name):
    """Loads a pretrained model.

    Args:
        name: String, one of `presets()`.

    Returns:
        A `keras.Model` with the attributes `task` and `labels`, not compiled.
        It takes 16 kHz audio of shape `(batch, samples)`.

    Example:

    ```python
    name = next(iter(keras_duspar.models.presets()))
    model = keras_duspar.models.from_preset(name)
    model.summary()
    ```
    """
    return archives.load_model(preset_folder(name) / KERAS)


def names_preset(name):
    """Whether something is meant as the name of a preset: no file is."""
    if not isinstance(name, str):
        return False
    path = pathlib.Path(name)
    return path.name == name and not path.suffix and not path.exists()


def preset_folder(name, argument="name", or_file=False):
    """The folder of a preset.

    Args:
        name: String.
        argument: String, what it was given as. Default: `"name"`.
        or_file: Boolean, whether it could have been a file, too, so that an
            error says so. Default: `False`.
    """
    known = sorted(path.parent.name for path in FOLDER.glob(f"*/{CARD}"))
    if name not in known:
        expected = f"a preset, one of {', '.join(known)}"
        if or_file:
            expected += ", or a file or folder that exists"
        raise checks.bad_value(argument, expected, name)
    return FOLDER / name
