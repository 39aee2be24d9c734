"""What the detector of an exported keyword spotter is to use."""

from keras_duspar.streaming.detector import detector_settings
from keras_duspar.tflite import description
from keras_duspar.tflite import flatbuffer
from keras_duspar.utils import checks

_ARGUMENTS = ("thresholds", "smoothing", "refractory")


def kept_settings(path):
    """What a `.tflite` file keeps for a detector.

    Args:
        path: String or `pathlib.Path`, a streaming file with `window`.

    Returns:
        A dictionary of `window` and the arguments of `store_detector()`.
    """
    about = description.decode(flatbuffer.read(path)) or {}
    kept = about.get("detector")
    if kept is None:
        raise checks.bad_value(
            "detector",
            "a dictionary, or a streaming file that was converted with "
            "`window`",
            str(path),
        )
    thresholds = kept["thresholds"]
    labels = about["labels"] or map(str, range(len(thresholds)))
    return kept | {"thresholds": dict(zip(labels, thresholds))}


def settings_of(lowered, given):
    """The settings of a model's detector, or `None` if it has none.

    Args:
        lowered: The `Lowering` of the model.
        given: Dictionary of arguments of `store_detector()`, or `None`.
    """
    window = lowered.stream.window
    if window is None or len(lowered.outputs) != 1:
        if given is None:
            return None
        raise ValueError(
            "`detector` needs a `window` and a model with one output. "
            f"Received: {given}."
        )
    unknown = sorted(set(given or ()) - set(_ARGUMENTS))
    if unknown:
        raise checks.bad_value(
            "detector", f"a dictionary with keys of {_ARGUMENTS}", unknown
        )
    numbers = list(map(str, range(lowered.outputs[0].size)))
    return detector_settings(lowered.labels or numbers, window, **(given or {}))
