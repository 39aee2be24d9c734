"""The TFLite runtime that is installed, and the delegate."""

import importlib

from keras_duspar import native


def find_runtime():
    """The classes of LiteRT or, without it, of TensorFlow.

    Returns:
        The interpreter class and the function that loads a delegate.
    """
    for module, delegates in (
        ("ai_edge_litert.interpreter", "ai_edge_litert.interpreter"),
        ("tensorflow.lite", "tensorflow.lite.experimental"),
    ):
        try:
            interpreter = importlib.import_module(module).Interpreter
            loader = importlib.import_module(delegates).load_delegate
        except ImportError:
            continue
        return interpreter, loader
    raise ImportError(
        "This needs a TFLite runtime, the package `ai-edge-litert`. Install it "
        "with `pip install keras-duspar[tflite]`."
    )


def delegate_path():
    """The path of the library whose delegate runs sparse operators.

    Any TFLite runtime can load it, also without this package.

    Returns:
        The path, as a string.

    Example:

    ```python
    from ai_edge_litert.interpreter import Interpreter, load_delegate

    delegate = load_delegate(keras_duspar.tflite.delegate_path())
    interpreter = Interpreter("m.tflite", experimental_delegates=[delegate])
    ```
    """
    return native.library_path()
