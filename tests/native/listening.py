"""What listens in the C library, for ctypes."""

import ctypes
from ctypes import POINTER
from ctypes import c_char_p
from ctypes import c_double
from ctypes import c_float
from ctypes import c_int16
from ctypes import c_int32
from ctypes import c_size_t
from ctypes import c_uint64
from ctypes import c_void_p

from keras_duspar import native


class Settings(ctypes.Structure):
    _fields_ = [
        ("classes", c_size_t),
        ("labels", POINTER(c_char_p)),
        ("thresholds", POINTER(c_double)),
        ("seconds", c_double),
        ("window", c_double),
        ("smoothing", c_double),
        ("refractory", c_double),
    ]


class FoundEvent(ctypes.Structure):
    _fields_ = [
        ("index", c_size_t),
        ("word", c_char_p),
        ("start", c_double),
        ("end", c_double),
        ("confidence", c_double),
    ]


class InputSettings(ctypes.Structure):
    _fields_ = [
        ("rate", c_int32),
        ("model_rate", c_int32),
        ("samples", c_size_t),
        ("seconds", c_double),
    ]


class FileState(ctypes.Structure):
    _fields_ = [("input", c_int32), ("output", c_int32)]


class File(ctypes.Structure):
    _fields_ = [
        ("task", ctypes.c_char * 64),
        ("kind", ctypes.c_char * 16),
        ("sample_rate", c_int32),
        ("delay", c_int32),
        ("input", c_int32),
        ("output", c_int32),
        ("state_count", c_size_t),
        ("states", POINTER(FileState)),
    ]


FUNCTIONS = {
    "detector_create": (c_void_p, [POINTER(Settings)]),
    "detector_from_file": (c_void_p, [c_char_p, c_size_t]),
    "detector_destroy": (None, [c_void_p]),
    "detector_reset": (None, [c_void_p]),
    "detector_step": (c_int32, [c_void_p, c_void_p, POINTER(FoundEvent)]),
    "detector_classes": (c_size_t, [c_void_p]),
    "file_read": (POINTER(File), [c_char_p, c_size_t]),
    "file_free": (None, [POINTER(File)]),
    "resampler_create": (c_void_p, [c_int32, c_int32]),
    "resampler_destroy": (None, [c_void_p]),
    "resampler_reset": (None, [c_void_p]),
    "resampler_delay": (c_int32, [c_void_p]),
    "resampler_room": (c_size_t, [c_void_p, c_size_t]),
    "resampler_run": (c_size_t, [c_void_p, c_void_p, c_size_t, c_void_p]),
    "input_create": (c_void_p, [POINTER(InputSettings)]),
    "input_destroy": (None, [c_void_p]),
    "input_push": (c_size_t, [c_void_p, POINTER(c_float), c_size_t]),
    "input_push_int16": (c_size_t, [c_void_p, POINTER(c_int16), c_size_t]),
    "input_dropped": (c_uint64, [c_void_p]),
    "input_pull": (c_int32, [c_void_p, c_void_p]),
    "input_reset": (None, [c_void_p]),
    "last_error": (c_char_p, []),
}


class Library:
    """The functions by their names without `duspar_`."""

    def __init__(self):
        loaded = ctypes.CDLL(native.library_path())
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(loaded, f"duspar_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
