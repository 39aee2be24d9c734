"""The TFLite runtime that is installed, and the delegate."""

import functools
import importlib

from keras_duspar import native


def find_runtime():
    """The classes of LiteRT or, without it, of TensorFlow.

    Returns:
        What makes an interpreter, and the function that loads a delegate.
    """
    try:
        litert = importlib.import_module("ai_edge_litert.interpreter")
        return litert.Interpreter, litert.load_delegate
    except ImportError:
        pass
    try:
        # Not a module that can be imported by its name in every version.
        lite = importlib.import_module("tensorflow").lite
    except ImportError as error:
        raise ImportError(
            "This needs a TFLite runtime, the package `ai-edge-litert`. "
            "Install it with `pip install keras-duspar[runtime]`."
        ) from error
    # XNNPACK, the default delegate, gives outputs of size 0 the size 1 in
    # some versions, such as 2.18.1: streams would be wrong without a word.
    resolver = lite.experimental.OpResolverType
    interpreter = functools.partial(
        lite.Interpreter,
        experimental_op_resolver_type=resolver.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    return interpreter, lite.experimental.load_delegate


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
