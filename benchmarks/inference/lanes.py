"""What takes turns: a stack in one runtime, called frame by frame.

A part computes the layers between two pools. It has `step(x)`, which returns
the output of a time step and the nanoseconds of the call that computed it,
without copying in and out.
"""

import ctypes
import importlib
import importlib.util
import pathlib
import time

import numpy as np

from keras_duspar import native
from keras_duspar import tflite
from keras_duspar.tflite import flatbuffer
from keras_duspar.tflite.runtime import find_runtime

now = time.perf_counter_ns


class Lane:
    """Parts with pools behind them, and their times.

    Args:
        name: String, what it is called.
        frames: Array of inputs, which come again and again.
        parts: List of pairs of a part and the steps that are averaged of its
            output.
        **labels: What tables tell of it.
    """

    def __init__(self, name, frames, parts, **labels):
        self.name, self.labels, self.times = name, labels, []
        self._frames = np.ascontiguousarray(frames, "float32")
        self._parts = [(part, pool, []) for part, pool in parts]
        self._at = 0

    def run(self, steps):
        """Runs the next frames; returns nanoseconds per frame."""
        total = 0
        for _ in range(steps):
            x = self._frames[self._at : self._at + 1]
            self._at = (self._at + 1) % len(self._frames)
            for part, pool, group in self._parts:
                x, taken = part.step(x)
                total += taken
                if pool > 1:
                    group.append(x)
                    if len(group) < pool:
                        break
                    x = np.mean(group, axis=0)
                    group.clear()
        return total / steps

    def occupancy(self):
        """Effective over dense MACs since the start, or `None`."""
        counts = np.zeros(2)
        for part, _, _ in self._parts:
            counts += part.counts() if hasattr(part, "counts") else 0
        return float(counts[0] / counts[1]) if counts[1] else None


class FilePart:
    """A `.tflite` file in the interpreter.

    Its states have the same names among inputs and outputs, and one input and
    one output are left.
    """

    def __init__(self, content):
        file = flatbuffer.File(content)
        signature = file.signatures[0]
        states = [n for n in signature.inputs if n in signature.outputs]
        (x,) = (i for n, i in signature.inputs.items() if n not in states)
        (y,) = (i for n, i in signature.outputs.items() if n not in states)
        self._x, self._y = x, y
        self._states = [
            (signature.inputs[n], signature.outputs[n]) for n in states
        ]
        interpreter_class, load_delegate = find_runtime()
        self._handle, delegates = None, []
        if file.custom_operators():
            self._handle = native.new_handle()
            delegates = [
                load_delegate(tflite.delegate_path(), {"handle": self._handle})
            ]
        self._interpreter = interpreter_class(
            model_content=content,
            num_threads=1,
            experimental_delegates=delegates,
        )
        self._interpreter.allocate_tensors()
        self._details = {
            d["index"]: d
            for d in self._interpreter.get_input_details()
            + self._interpreter.get_output_details()
        }
        shapes = {i: tuple(d["shape"]) for i, d in self._details.items()}
        self.samples = int(np.prod(shapes[x]))
        self._values = {
            old: np.zeros(shapes[old], "f") for old, _ in self._states
        }

    def _set(self, index, value):
        detail = self._details[index]
        value = np.reshape(value, detail["shape"])
        if detail["dtype"] == np.int8:
            scale, zero = detail["quantization"]
            value = np.rint(value / scale) + zero
            value = np.clip(value, -128, 127)
        self._interpreter.set_tensor(index, value.astype(detail["dtype"]))

    def _get(self, index):
        detail = self._details[index]
        value = self._interpreter.get_tensor(index)
        if detail["dtype"] == np.int8:
            scale, zero = detail["quantization"]
            value = (value.astype("f") - zero) * np.float32(scale)
        return value

    def step(self, x):
        """Runs one time step."""
        self._set(self._x, x)
        for old, _ in self._states:
            self._set(old, self._values[old])
        invoke = self._interpreter.invoke
        start = now()
        invoke()
        taken = now() - start
        for old, new in self._states:
            self._values[old] = self._get(new)
        return self._get(self._y).reshape(1, -1), taken

    def counts(self):
        """Effective and dense MACs."""
        if self._handle is None:
            return np.zeros(2)
        operands = [
            operand
            for operator in native.operators(self._handle)
            for operand in operator.operands
        ]
        return np.array(
            [
                sum(o.fan * o.nonzeros for o in operands),
                sum(o.fan * o.entries for o in operands),
            ],
            float,
        )


class OnnxPart:
    """GRU layers of ONNX Runtime, one step, bound to their memory."""

    def __init__(self, weights):
        onnx = importlib.import_module("onnx")
        runtime = importlib.import_module("onnxruntime")
        helper, floats = onnx.helper, onnx.TensorProto.FLOAT
        nodes, constants, n = [], [], weights[0][0].shape[0]
        inputs = [helper.make_tensor_value_info("x0", floats, (1, 1, n))]
        outputs, self._state_shapes = [], {}
        for i, (kernel, recurrent, bias) in enumerate(weights):
            m = recurrent.shape[0]
            # Keras' order, update, reset and candidate, is ONNX's.
            for name, value in (
                (f"w{i}", kernel.T[np.newaxis]),
                (f"r{i}", recurrent.T[np.newaxis]),
                (f"b{i}", bias.reshape(1, -1)),
            ):
                value = np.ascontiguousarray(value, "float32")
                constants.append(onnx.numpy_helper.from_array(value, name))
            nodes.append(
                helper.make_node(
                    "GRU",
                    [f"x{i}", f"w{i}", f"r{i}", f"b{i}", "", f"h{i}"],
                    ["", f"n{i}"],
                    hidden_size=m,
                    linear_before_reset=1,
                )
            )
            nodes.append(helper.make_node("Identity", [f"n{i}"], [f"x{i + 1}"]))
            shape = (1, 1, m)
            self._state_shapes[f"h{i}"] = shape
            inputs.append(helper.make_tensor_value_info(f"h{i}", floats, shape))
            outputs.append(
                helper.make_tensor_value_info(f"n{i}", floats, shape)
            )
        if len(weights):  # the last identity has no reader
            nodes.pop()
        graph = helper.make_graph(nodes, "grus", inputs, outputs, constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)]
        )
        model.ir_version = 9
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = runtime.InferenceSession(
            model.SerializeToString(),
            options,
            providers=["CPUExecutionProvider"],
        )
        self._binding = self._session.io_binding()
        self._memory = {"x0": np.zeros((1, 1, n), "f")}
        for name, shape in self._state_shapes.items():
            self._memory[name] = np.zeros(shape, "f")
            self._memory[name.replace("h", "n")] = np.zeros(shape, "f")
        for name, array in self._memory.items():
            bind = (
                self._binding.bind_output
                if name[0] == "n"
                else self._binding.bind_input
            )
            bind(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)

    def step(self, x):
        """Runs one time step."""
        self._memory["x0"][...] = x
        run, binding = self._session.run_with_iobinding, self._binding
        start = now()
        run(binding)
        taken = now() - start
        for name in self._state_shapes:
            y = self._memory[name.replace("h", "n")]
            self._memory[name][...] = y
        return y.reshape(1, -1).copy(), taken


class TorchPart:
    """GRU layers of torch, one step: `nn.GRUCell`, faster than `nn.GRU`."""

    def __init__(self, weights):
        torch = importlib.import_module("torch")
        torch.set_num_threads(1)
        self._torch, self._layers, self._states = torch, [], []
        for kernel, recurrent, bias in weights:
            n, m = kernel.shape[0], recurrent.shape[0]
            layer = torch.nn.GRUCell(n, m)
            # torch's order is reset, update, candidate.
            order = np.r_[m : 2 * m, :m, 2 * m : 3 * m]
            values = (kernel.T, recurrent.T, bias[0], bias[1])
            for parameter, value in zip(layer.parameters(), values):
                value = np.ascontiguousarray(value[order])
                parameter.data = torch.from_numpy(value)
            self._layers.append(layer.eval())
            self._states.append(torch.zeros(1, m))

    def step(self, x):
        """Runs one time step."""
        with self._torch.inference_mode():
            y = self._torch.from_numpy(x.copy())
            start = now()
            for i, layer in enumerate(self._layers):
                y = self._states[i] = layer(y, self._states[i])
            taken = now() - start
        return y.numpy().reshape(1, -1), taken


class DenseKernel:
    """Our own dense GRU in C, a lane by itself, timed there.

    Args:
        name: String, what it is called.
        frames: Array of inputs.
        layers: List of the weights of every layer, as Keras has them.
        pools: Steps that are averaged behind each layer.
        library: Path of the library of `tflite/benchmarks`.
        int8: Whether weights are int8, and not float32.
        **labels: What tables tell of it.
    """

    def __init__(self, name, frames, layers, pools, library, int8, **labels):
        self.name, self.labels, self.times = name, labels, []
        self._frames = np.ascontiguousarray(np.concatenate([frames, frames]))
        self._at = 0
        pointer, ints = ctypes.POINTER(ctypes.c_float), ctypes.c_int
        code = ctypes.CDLL(str(library))
        code.gru_stack_create.restype = ctypes.c_void_p
        code.gru_stack_run.restype = ctypes.c_double
        arrays = [
            np.ascontiguousarray(w, "float32")
            for layer in layers
            for w in layer
        ]
        units = [layer[1].shape[0] for layer in layers]
        kernel = labels["vectors"]
        self._run = code.gru_stack_run
        self._free = code.gru_stack_destroy
        self._stack = ctypes.c_void_p(
            code.gru_stack_create(
                kernel.encode(),
                int(int8),
                len(units),
                frames.shape[1],
                (ints * len(units))(*units),
                (ints * len(units))(*pools),
                (pointer * len(arrays))(
                    *(a.ctypes.data_as(pointer) for a in arrays)
                ),
            )
        )
        if not self._stack:
            raise ValueError(f"no dense kernel for {kernel}")
        self.output = np.zeros(units[-1], "float32")

    def __del__(self):
        if getattr(self, "_stack", None):
            self._free(self._stack)

    def run(self, steps):
        """Runs the next frames; returns nanoseconds per frame."""
        count = len(self._frames) // 2
        steps = min(steps, count)
        frames = self._frames[self._at :]
        self._at = (self._at + steps) % count
        taken = self._run(
            self._stack,
            ctypes.c_void_p(frames.ctypes.data),
            steps,
            ctypes.c_void_p(self.output.ctypes.data),
        )
        return taken / steps

    def occupancy(self):
        """All MACs are computed."""
        return None


def open_rnnoise():
    """The function of RNNoise that makes a frame clean, and a new state."""
    found = importlib.util.find_spec("pyrnnoise")
    if found is None:
        raise ImportError("pyrnnoise")
    folder = pathlib.Path(found.submodule_search_locations[0])
    (path,) = (
        p for p in folder.iterdir() if p.suffix in (".so", ".dylib", ".dll")
    )
    library = ctypes.CDLL(str(path))
    library.rnnoise_create.restype = ctypes.c_void_p
    library.rnnoise_process_frame.restype = ctypes.c_float
    state = ctypes.c_void_p(library.rnnoise_create(None))
    return library.rnnoise_process_frame, state


class RNNoise:
    """A frame of RNNoise, 10 ms at 48 kHz, of the package `pyrnnoise`."""

    def __init__(self, **labels):
        self.name, self.labels, self.times = "RNNoise", labels, []
        self._process, self._state = open_rnnoise()
        rng = np.random.default_rng(0)
        self._frames = rng.normal(0, 3000, (64, 480)).astype("float32")
        self._out = np.zeros(480, "float32")

    def run(self, steps):
        """Runs frames; returns nanoseconds per frame."""
        total = 0
        out = ctypes.c_void_p(self._out.ctypes.data)
        for i in range(steps):
            frame = ctypes.c_void_p(self._frames[i % 64].ctypes.data)
            start = now()
            self._process(self._state, out, frame)
            total += now() - start
        return total / steps

    def occupancy(self):
        """All MACs are computed."""
        return None
