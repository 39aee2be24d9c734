"""LiteRT's interpreter of a file: its tensors, and the states of a stream."""

import ctypes
import warnings

import numpy as np

from keras_duspar import native
from keras_duspar.tflite import description
from keras_duspar.tflite import flatbuffer
from keras_duspar.tflite.compiled import Compiled
from keras_duspar.tflite.counting import Counting
from keras_duspar.tflite.runtime import delegate_path
from keras_duspar.tflite.runtime import find_runtime


class FileInterpreter:
    """What a `Runner` knows of its file, and how it puts numbers in and out.

    Args:
        path: String or `pathlib.Path`, the file.
        delegate: Boolean, as in `load()`.
        num_threads: Positive integer, as in `load()`.
        runtime: String, as in `load()`.
    """

    def __init__(self, path, delegate, num_threads, runtime):
        self.path = str(path)
        self.file = flatbuffer.read(path)
        self._read_description()
        self._handle = None
        self._interpreter = self._make_interpreter(
            delegate, num_threads, runtime
        )
        self._run = self._interpreter.invoke
        self._fixed = not any(-1 in t.shape for t in self.file.tensors[0])
        self._allocate({})
        self._counting = Counting(self.description, self._handle)

    def _read_description(self):
        found = description.decode(self.file)
        self.signature = self.file.signatures[0]
        if found is None:
            warnings.warn(
                f"{self.path!r} was not written by keras_duspar: it runs, but "
                "tells neither labels nor costs, and cannot be streamed.",
                stacklevel=5,
            )
            found = {"outputs": [{"name": n} for n in self.signature.outputs]}
        self.description = found
        for name in ("task", "labels", "sample_rate", "hop", "ops", "weights"):
            setattr(self, name, found.get(name))
        self.streaming = found.get("streaming", False)
        self.delay = found.get("delay", 0)
        self.window = (found.get("detector") or {}).get("window")
        states = found.get("states", [])
        outputs = [output["name"] for output in found["outputs"]]
        self.states = self._shapes(self.signature.inputs, states)
        self.outputs = self._shapes(self.signature.outputs, outputs)
        self.inputs = self._shapes(
            self.signature.inputs,
            [name for name in self.signature.inputs if name not in states],
        )
        self.samples = None
        if self.streaming:
            self.samples = next(iter(self.inputs.values()))[1]

    def _shapes(self, indices, names):
        return {n: self.file.tensors[0][indices[n]].shape for n in names}

    def _make_interpreter(self, delegate, num_threads, runtime):
        sparse = sorted({op.custom for op, _ in self.file.custom_operators()})
        if sparse:
            if not delegate:
                raise ValueError(
                    "`delegate` must be True for a file with sparse "
                    f"operators. Received: {self.path!r} with {sparse}. "
                    'Convert with `ops="builtin"` to run without.'
                )
            native.load()  # says what is wrong with it, if anything is
            self._handle = native.new_handle()
        try:
            if runtime == "compiled":
                return Compiled(self.path, self.file, self._handle, num_threads)
            interpreter_class, load_delegate = find_runtime()
            delegates = []
            if sparse:
                options = {"handle": self._handle}
                delegates.append(load_delegate(delegate_path(), options))
            return interpreter_class(
                self.path,
                num_threads=num_threads,
                experimental_delegates=delegates,
            )
        except (ValueError, RuntimeError) as e:
            raise ValueError(f"`path` {self.path!r} cannot be run: {e}") from e

    def _allocate(self, shapes):
        """Makes room for inputs of the given shapes, by name."""
        for name, shape in shapes.items():
            index = self.signature.inputs[name]
            self._interpreter.resize_tensor_input(index, shape)
        try:
            self._interpreter.allocate_tensors()
        except RuntimeError as e:
            raise ValueError(
                f"`path` {self.path!r} cannot be run on inputs of shapes "
                f"{shapes or self.inputs}: {e}"
            ) from e
        self._sizes = dict(shapes)
        if self.streaming:
            self._chunk = self._place(self.signature.inputs, self.inputs)
            self._old = self._place(self.signature.inputs, self.states)
            self._new = self._place(self.signature.outputs, self.states)
            self._results = self._place(self.signature.outputs, self.outputs)
            self._zero_states()

    def _invoke(self, batch_size=1):
        try:
            self._run()
        except RuntimeError as e:
            raise RuntimeError(f"{self.path!r} failed to run: {e}") from e
        counts = self._counting.output and self._get(self._counting.output)
        self._counting.add(batch_size, counts)

    def _get(self, name):
        index = self.signature.outputs[name]
        try:
            return self._interpreter.get_tensor(index)
        except ValueError:  # of a tensor that has no bytes
            for found in self._interpreter.get_output_details():
                if found["index"] == index and 0 in found["shape"]:
                    return np.zeros(found["shape"], found["dtype"])
            raise

    def _step(self, chunk):
        """One step on a chunk that is checked."""
        if not self._fixed:
            return self._step_by_copies(chunk)
        self._chunk[0][...] = chunk
        self._invoke()
        for old, new in zip(self._old, self._new):
            np.copyto(old, new)
        return {n: x.copy() for n, x in zip(self.outputs, self._results)}

    def _step_by_copies(self, chunk):
        """The same if tensors may move in memory while the file runs."""
        inputs, outputs = self.signature.inputs, self.signature.outputs
        name = next(iter(self.inputs))
        self._interpreter.set_tensor(inputs[name], chunk)
        for state in self.states:
            self._interpreter.set_tensor(inputs[state], self._values[state])
        self._invoke()
        for state in self.states:
            self._values[state] = self._interpreter.get_tensor(outputs[state])
        return {name: self._get(name) for name in self.outputs}

    def _place(self, indices, names):
        """Arrays on the memory of tensors that never move.

        They hold no reference to the interpreter, which refuses to run while
        there are any; it lives as long as this object.
        """
        if not self._fixed:
            return []
        arrays = []
        for name in names:
            found = self._interpreter.tensor(indices[name])()
            address = found.__array_interface__["data"][0]
            memory = (ctypes.c_char * found.nbytes).from_address(address)
            array = np.frombuffer(memory, found.dtype).reshape(found.shape)
            arrays.append(array)
        return arrays

    def _zero_states(self):
        for array in self._old:
            array[...] = 0
        self._values = {
            name: np.zeros(
                shape, self.file.tensors[0][self.signature.inputs[name]].dtype
            )
            for name, shape in self.states.items()
        }
