"""The C interface in the words of ctypes: see `tflite/include`."""

import ctypes
from ctypes import POINTER
from ctypes import c_char
from ctypes import c_char_p
from ctypes import c_float
from ctypes import c_int32
from ctypes import c_int64
from ctypes import c_size_t
from ctypes import c_uint64
from ctypes import c_void_p

from keras_duspar import operators

INTERFACE = 6
KINDS = {operator.key: operator.kind for operator in operators.OPERATORS}
WEIGHT_TYPES = {"float32": 0, "bfloat16": 1, "int8": 2}
OPERAND_BITS = {"float32": 0, "uint7": 7, "uint8": 8}


class Cell(ctypes.Structure):
    """`duspar_cell`."""

    _fields_ = [
        ("gate_kernel", c_void_p),
        ("candidate_kernel", c_void_p),
        ("gate_bias", c_void_p),
        ("gate_scale", c_void_p),
        ("candidate_scale", c_void_p),
        ("operand_scale", c_float),
    ]


class Parameters(ctypes.Structure):
    """`duspar_parameters`."""

    _fields_ = [
        ("kind", c_int32),
        ("weight_type", c_int32),
        ("features", c_int32),
        ("units", c_int32),
        ("operand_bits", c_int32),
        ("feedforward", Cell),
        ("feedback", Cell),
        ("feedforward_bias", c_void_p),
        ("feedback_bias", c_void_p),
    ]


class Counts(ctypes.Structure):
    """`duspar_counts`."""

    _fields_ = [
        ("invocations", c_uint64),
        ("steps", c_uint64),
        ("nonzeros", c_uint64 * 2),
    ]


class OperandDescription(ctypes.Structure):
    """`duspar_operand`."""

    _fields_ = [
        ("name", c_char_p),
        ("size", c_int64),
        ("fan", c_int64),
        ("nonzeros", c_uint64),
        ("entries", c_uint64),
    ]


class OperatorDescription(ctypes.Structure):
    """`duspar_operator`."""

    _fields_ = [
        ("layer", c_char * 256),
        ("op", c_char_p),
        ("kernel", c_char_p),
        ("in_use", c_int32),
        ("operand_count", c_int32),
        ("features", c_int64),
        ("units", c_int64),
        ("bytes", c_int64),
        ("invocations", c_uint64),
        ("steps", c_uint64),
        ("operands", OperandDescription * 2),
    ]


# The functions of LiteRT 2 that its kernels need.
LITERT_NAMES = [
    "LiteRtAddCustomOpKernelOption",
    "LiteRtGetTensorBufferTensorType",
    "LiteRtGetTensorBufferSize",
    "LiteRtLockTensorBuffer",
    "LiteRtUnlockTensorBuffer",
]


class LiteRtFunctions(ctypes.Structure):
    """`duspar_litert_functions`."""

    _fields_ = [(name, c_void_p) for name in LITERT_NAMES]


class Meter(ctypes.Structure):
    """`duspar_meter`."""

    _fields_ = [
        ("width", c_float),
        ("occupancies", c_void_p),
        ("gradients", c_void_p),
    ]


class Training(ctypes.Structure):
    """`duspar_training`."""

    _fields_ = [
        ("kind", c_int32),
        ("threads", c_int32),
        ("batch", c_int64),
        ("steps", c_int64),
        ("features", c_int64),
        ("units", c_int64),
        ("chunk", c_int64),
        ("kernel", c_char_p),
        ("meter", POINTER(Meter)),
    ]


# Name, result, arguments.
FUNCTIONS = [
    ("duspar_interface", c_int32, []),
    ("duspar_version", c_char_p, []),
    ("duspar_last_error", c_char_p, []),
    ("duspar_cpu_features", c_char_p, []),
    ("duspar_kernel_count", c_size_t, []),
    ("duspar_kernel_name", c_char_p, [c_size_t]),
    ("duspar_kernel_usable", c_int32, [c_size_t]),
    ("duspar_layer_create", c_void_p, [POINTER(Parameters), c_char_p]),
    ("duspar_layer_destroy", None, [c_void_p]),
    ("duspar_layer_kernel", c_char_p, [c_void_p]),
    ("duspar_layer_bytes", c_size_t, [c_void_p]),
    (
        "duspar_layer_run",
        c_int32,
        [c_void_p, c_int64, c_int64, *[c_void_p] * 6, POINTER(Counts)],
    ),
    ("duspar_delegate_find", c_void_p, [c_char_p]),
    ("duspar_delegate_operator_count", c_size_t, [c_void_p]),
    (
        "duspar_delegate_operator",
        c_int32,
        [c_void_p, c_size_t, POINTER(OperatorDescription)],
    ),
    ("duspar_delegate_reset", c_int32, [c_void_p, c_size_t]),
    (
        "tflite_plugin_create_delegate",
        c_void_p,
        [POINTER(c_char_p), POINTER(c_char_p), c_size_t, c_void_p],
    ),
    ("tflite_plugin_destroy_delegate", None, [c_void_p]),
    (
        "duspar_litert_create",
        c_void_p,
        [c_void_p, c_char_p, c_size_t, POINTER(LiteRtFunctions), c_int32],
    ),
    ("duspar_litert_file", c_void_p, [c_void_p, POINTER(c_size_t)]),
    ("duspar_litert_register", c_int32, [c_void_p, c_void_p]),
    ("duspar_litert_error", c_char_p, [c_void_p]),
    ("duspar_litert_destroy", None, [c_void_p]),
    (
        "duspar_file_metadata",
        c_int32,
        [c_void_p, c_size_t, c_char_p, POINTER(c_void_p), POINTER(c_size_t)],
    ),
]

# Those that a library may have been built without.
TRAINING_FUNCTIONS = [
    ("duspar_train_kernel", c_char_p, [c_size_t]),
    ("duspar_train_memory", c_int64, [c_int64]),
    (
        "duspar_train_reserve",
        c_int32,
        [POINTER(Training), POINTER(c_int64)],
    ),
    (
        "duspar_train_forward",
        c_int32,
        [POINTER(Training), POINTER(c_void_p), *[c_void_p] * 7],
    ),
    (
        "duspar_train_backward",
        c_int32,
        [
            POINTER(Training),
            POINTER(c_void_p),
            *[c_void_p] * 8,
            POINTER(c_void_p),
        ],
    ),
]


def declare(library):
    """Gives the functions of a loaded library their types."""
    functions = FUNCTIONS + (TRAINING_FUNCTIONS if trains(library) else [])
    for name, result, arguments in functions:
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments


def trains(library):
    """Whether a loaded library was built with training."""
    return hasattr(library, TRAINING_FUNCTIONS[0][0])


def check(library, succeeded):
    """Raises the library's last error unless `succeeded`."""
    if not succeeded:
        reason = library.duspar_last_error().decode(errors="replace")
        raise ValueError(f"The native library refused: {reason}")
