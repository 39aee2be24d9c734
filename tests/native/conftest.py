"""What the tests with LiteRT's interpreter share."""

import numpy as np
import pytest

from keras_duspar import native


class Runner:
    """An interpreter with a delegate of its own, unless it is given one."""

    def __init__(self, content, delegate=None, **options):
        from ai_edge_litert.interpreter import Interpreter
        from ai_edge_litert.interpreter import load_delegate

        self.handle = native.new_handle()
        if delegate is None:
            path = native.library_path()
            options = {"handle": self.handle, **options}
            delegate = load_delegate(path, options)
        self.delegate = delegate
        self.interpreter = Interpreter(
            model_content=content, experimental_delegates=[delegate]
        )

    def resize(self, *arrays):
        """Gives the inputs the shapes of `arrays`."""
        details = self.interpreter.get_input_details()
        for detail, array in zip(details, arrays):
            self.interpreter.resize_tensor_input(detail["index"], array.shape)

    def __call__(self, *arrays, allocate=True):
        """Runs on inputs of any shape; returns all outputs."""
        if allocate:
            self.resize(*arrays)
            self.interpreter.allocate_tensors()
        details = self.interpreter.get_input_details()
        for detail, array in zip(details, arrays):
            value = np.asarray(array, "float32")
            self.interpreter.set_tensor(detail["index"], value)
        self.interpreter.invoke()
        return [
            self.interpreter.get_tensor(detail["index"])
            for detail in self.interpreter.get_output_details()
        ]

    def operators(self):
        return native.operators(self.handle)


@pytest.fixture
def runner():
    pytest.importorskip("ai_edge_litert")
    return Runner
