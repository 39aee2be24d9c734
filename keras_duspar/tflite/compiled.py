"""LiteRT 2's compiled model, with our operators as its kernels.

The package `ai-edge-litert` has no Python for kernels, so this calls LiteRT's
C interface (`litert/c` of LiteRT 2.2 and 2.3).
"""

import ctypes
import functools
import importlib.util
import pathlib
import sys
from ctypes import POINTER
from ctypes import byref
from ctypes import c_int
from ctypes import c_size_t
from ctypes import c_void_p

import numpy as np

from keras_duspar import native
from keras_duspar.native import interface
from keras_duspar.utils import checks

NAMES = {"win32": "libLiteRt.dll", "darwin": "libLiteRt.dylib"}
CPU = 1
ALIGNMENT = 64  # LiteRT's, of the memory of tensors
EXTRA = 64  # bytes behind a tensor that XNNPACK may read
TYPES = {"float32": 1, "int32": 2, "int64": 4, "int8": 9}


class Layout(ctypes.Structure):
    """`LiteRtLayout`."""

    _fields_ = [
        ("rank", ctypes.c_uint, 7),
        ("has_strides", ctypes.c_uint, 1),
        ("dimensions", ctypes.c_int32 * 8),
        ("strides", ctypes.c_uint32 * 8),
    ]

    @property
    def shape(self):
        return tuple(self.dimensions[: self.rank])


class TensorType(ctypes.Structure):
    """`LiteRtRankedTensorType`."""

    _fields_ = [("element_type", c_int), ("layout", Layout)]


class EnvironmentOption(ctypes.Structure):
    """`LiteRtEnvOption` with an integer, and what lies between its fields."""

    _fields_ = [(name, ctypes.c_int64) for name in ("tag", "type", "value")]


# Look for no other accelerators than the CPU; log errors alone.
INTEGER = 2
OPTIONS = [(24, INTEGER, CPU), (25, INTEGER, 3)]

# Arguments of the functions that return a status.
FUNCTIONS = {
    "LiteRtCreateEnvironment": [c_int, c_void_p, POINTER(c_void_p)],
    "LiteRtCreateModelFromBuffer": [
        c_void_p,
        c_void_p,
        c_size_t,
        POINTER(c_void_p),
    ],
    "LiteRtCreateOptions": [POINTER(c_void_p)],
    "LiteRtSetOptionsHardwareAccelerators": [c_void_p, c_int],
    "LiteRtCreateOpaqueOptions": [
        ctypes.c_char_p,
        c_void_p,
        c_void_p,
        POINTER(c_void_p),
    ],
    "LiteRtAddOpaqueOptions": [c_void_p, c_void_p],
    "LiteRtCreateCompiledModel": [*[c_void_p] * 3, POINTER(c_void_p)],
    "LiteRtCompiledModelResizeInputTensor": [
        c_void_p,
        c_size_t,
        c_size_t,
        POINTER(c_int),
        c_size_t,
    ],
    "LiteRtGetCompiledModelOutputTensorLayouts": [
        c_void_p,
        c_size_t,
        c_size_t,
        POINTER(Layout),
        ctypes.c_bool,
    ],
    "LiteRtCreateTensorBufferFromHostMemory": [
        POINTER(TensorType),
        c_void_p,
        c_size_t,
        c_void_p,
        POINTER(c_void_p),
    ],
    "LiteRtRunCompiledModel": [
        c_void_p,
        c_size_t,
        c_size_t,
        c_void_p,
        c_size_t,
        c_void_p,
    ],
}


@functools.cache
def load_litert():
    """Loads the library of LiteRT 2 that lies in `ai-edge-litert`."""
    package = importlib.util.find_spec("ai_edge_litert")
    name = NAMES.get(sys.platform, "libLiteRt.so")
    path = package and pathlib.Path(package.origin).with_name(name)
    # A function that came with version 2.2, as did the arguments above.
    library = ctypes.CDLL(str(path)) if path and path.is_file() else None
    if not hasattr(library, "LiteRtCreateModelFromFd"):
        raise ImportError(
            "A compiled model needs LiteRT 2.2 or newer. Install it with `pip "
            'install "ai-edge-litert>=2.2"`.'
        )
    for name, arguments in FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, c_int
    for name in (
        "LiteRtDestroyTensorBuffer",
        "LiteRtDestroyCompiledModel",
        "LiteRtDestroyOptions",
        "LiteRtDestroyModel",
        "LiteRtDestroyEnvironment",
    ):
        getattr(library, name).argtypes = [c_void_p]
        getattr(library, name).restype = None
    return library


def _aligned(shape, dtype):
    """An array of zeros where LiteRT wants its tensors."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + ALIGNMENT + EXTRA, "uint8")
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


class Compiled:
    """A compiled model with the methods of LiteRT's `Interpreter`.

    Args:
        path: String, the `.tflite` file.
        file: `flatbuffer.File`, the same.
        handle: String, the handle to give to the delegate that counts, or
            `None` for a file of built-in operators.
        num_threads: Positive integer.
    """

    def __init__(self, path, file, handle=None, num_threads=1):
        self._litert = load_litert()
        # LiteRT reads it as long as it lives.
        self._content = pathlib.Path(path).read_bytes()
        self._inputs, self._outputs = file.ends
        self._tensors = file.tensors[0]
        self._varies = any(-1 in t.shape for t in self._tensors)
        self._made, self._buffers, self._arrays = [], {}, {}
        self._library = self._kernels = self._delegate = None
        self._shapes = {
            i: tuple(max(n, 1) for n in self._tensors[i].shape)
            for i in self._inputs
        }
        if handle is not None:
            self._make_kernels(handle, num_threads)
        settings = (EnvironmentOption * len(OPTIONS))(*OPTIONS)
        environment = self._make("Environment", len(settings), settings)
        model = self._make("Model", environment, *self._file(), "FromBuffer")
        options = self._make("Options")
        self._call("LiteRtSetOptionsHardwareAccelerators", options, CPU)
        if num_threads > 1:
            self._set_threads(options, num_threads)
        if self._kernels:
            status = self._library.duspar_litert_register(
                self._kernels, options
            )
            interface.check(self._library, status == 0)
        self._model = self._make("CompiledModel", environment, model, options)

    def _make_kernels(self, handle, threads):
        self._library = library = native.load()
        self._delegate = library.tflite_plugin_create_delegate(
            (ctypes.c_char_p * 1)(b"handle"),
            (ctypes.c_char_p * 1)(handle.encode()),
            1,
            None,
        )
        interface.check(library, self._delegate)
        functions = interface.LiteRtFunctions(
            *(
                ctypes.cast(getattr(self._litert, name), c_void_p)
                for name in interface.LITERT_NAMES
            )
        )
        self._kernels = library.duspar_litert_create(
            self._delegate,
            self._content,
            len(self._content),
            byref(functions),
            threads,
        )
        interface.check(library, self._kernels)

    def _file(self):
        """Address and size of the file, or of a copy as LiteRT wants it."""
        size = c_size_t(len(self._content))
        if not self._kernels:
            return self._content, size
        file = self._library.duspar_litert_file(self._kernels, byref(size))
        return file, size

    def _set_threads(self, options, threads):
        libc = ctypes.CDLL(None)
        libc.strdup.restype = c_void_p
        text = libc.strdup(f"num_threads = {threads}\n".encode())
        opaque = c_void_p()
        self._call(
            "LiteRtCreateOpaqueOptions",
            b"xnnpack",
            text,
            ctypes.cast(libc.free, c_void_p),
            byref(opaque),
        )
        self._call("LiteRtAddOpaqueOptions", options, opaque)

    def _call(self, name, *arguments):
        status = getattr(self._litert, name)(*arguments)
        problem = None
        if self._kernels:  # which LiteRT does not ask
            problem = self._library.duspar_litert_error(self._kernels)
        if problem:
            raise RuntimeError(problem.decode(errors="replace"))
        if status:
            raise RuntimeError(f"{name} of LiteRT 2 failed: status {status}")

    def _make(self, kind, *arguments):
        """Creates an object, which is destroyed with this one."""
        made, suffix = c_void_p(), ""
        if arguments and isinstance(arguments[-1], str):
            *arguments, suffix = arguments
        self._call(f"LiteRtCreate{kind}{suffix}", *arguments, byref(made))
        self._made.append((kind, made))
        return made

    def close(self):
        """Destroys everything, in the order that LiteRT needs."""
        self._drop_buffers()
        while self._made:
            kind, made = self._made.pop()
            getattr(self._litert, f"LiteRtDestroy{kind}")(made)
        if self._library:
            self._library.duspar_litert_destroy(self._kernels)
            self._library.tflite_plugin_destroy_delegate(self._delegate)
        self._library = self._kernels = self._delegate = None

    def __del__(self):
        if hasattr(self, "_made"):
            self.close()

    # The methods of an interpreter

    def resize_tensor_input(self, index, shape):
        self._shapes[index] = tuple(shape)

    def allocate_tensors(self):
        self._drop_buffers()
        for place, index in enumerate(self._inputs):
            shape = self._shapes[index]
            if -1 in self._tensors[index].shape:
                self._call(
                    "LiteRtCompiledModelResizeInputTensor",
                    self._model,
                    0,
                    place,
                    (c_int * len(shape))(*shape),
                    len(shape),
                )
            self._add_buffer(index, shape)
        for index, shape in zip(self._outputs, self._output_shapes(True)):
            self._add_buffer(index, shape)

    def _output_shapes(self, allocate):
        layouts = (Layout * len(self._outputs))()
        self._call(
            "LiteRtGetCompiledModelOutputTensorLayouts",
            self._model,
            0,
            len(layouts),
            layouts,
            allocate,
        )
        return [layout.shape for layout in layouts]

    def _add_buffer(self, index, shape):
        dtype = self._tensors[index].dtype
        checks.choice("dtype", dtype, list(TYPES))
        array = _aligned(shape, dtype)
        layout = Layout(len(shape), 0, (ctypes.c_int32 * 8)(*shape))
        kind = TensorType(TYPES[dtype], layout)
        buffer = c_void_p()
        self._call(
            "LiteRtCreateTensorBufferFromHostMemory",
            byref(kind),
            array.ctypes.data,
            array.nbytes,
            None,
            byref(buffer),
        )
        self._arrays[index], self._buffers[index] = array, buffer

    def _drop_buffers(self):
        for buffer in self._buffers.values():
            self._litert.LiteRtDestroyTensorBuffer(buffer)
        self._buffers, self._arrays = {}, {}

    def tensor(self, index):
        return lambda: self._arrays[index]

    def set_tensor(self, index, value):
        self._arrays[index][...] = value

    def get_tensor(self, index):
        return self._arrays[index].copy()

    def invoke(self):
        sides = [
            (c_void_p * len(side))(*(self._buffers[i].value for i in side))
            for side in (self._inputs, self._outputs)
        ]
        arguments = [item for side in sides for item in (len(side), side)]
        self._call("LiteRtRunCompiledModel", self._model, 0, *arguments)
        if self._varies:
            self._check_outputs()

    def _check_outputs(self):
        """Raises if the run has found shapes that were not known before."""
        for index, shape in zip(self._outputs, self._output_shapes(False)):
            if shape != self._arrays[index].shape:
                name = self._tensors[index].name
                raise RuntimeError(
                    f"the output {name!r} has a shape that only the run tells, "
                    "which LiteRT 2 does not write. Convert with "
                    "`streaming=True` and as many `frames` as fill the pools, "
                    'or use `runtime="interpreter"`.'
                )
