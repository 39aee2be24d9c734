"""The speech synthesizer espeak-ng, from the `espeakng-loader` wheel.

The library keeps one state per process and is not thread-safe. What it says
depends a little on all it has said before in the process: the same texts in
the same order from a fresh process give the same samples, anything else does
not.
"""

import ctypes
import importlib
import os
import pathlib
import tempfile

import numpy as np

from datasets.base import DataError

ACCENTS = (
    "en",
    "en-us",
    "en-029",
    "en-gb-scotland",
    "en-gb-x-gbclan",
    "en-gb-x-gbcwmd",
    "en-gb-x-rp",
    "en-us-nyc",
)

# From espeak's public header.
_SYNCHRONOUS = 2
_DONT_EXIT = 0x8000
_RATE, _PITCH, _RANGE = 1, 3, 4
_UTF8 = 1
_LONGEST_PATH = 140  # the library copies the path to a small buffer

_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_short),
    ctypes.c_int,
    ctypes.c_void_p,
)


def loader():
    """The module `espeakng_loader`."""
    try:
        return importlib.import_module("espeakng_loader")
    except ImportError as e:
        raise DataError(
            "Synthetic speech needs espeak-ng: pip install espeakng-loader, "
            "or keras-duspar[recipes]."
        ) from e


def variants():
    """Names of the voices' variants, sorted."""
    folder = pathlib.Path(loader().get_data_path()) / "voices" / "!v"
    return sorted(os.listdir(folder))


class Espeak:
    """The synthesizer of this process.

    Args:
        seed: Integer, seed of the noise in some voices. Default: 0.
    """

    def __init__(self, seed=0):
        wheel = loader()
        try:
            self._library = ctypes.CDLL(wheel.get_library_path())
        except OSError as e:
            raise DataError(
                f"The library of espeak-ng does not load ({e}). Install "
                "espeakng-loader again."
            ) from e
        path = self._short(wheel.get_data_path())
        self.sample_rate = self._library.espeak_Initialize(
            _SYNCHRONOUS, 0, os.fsencode(path), _DONT_EXIT
        )
        if self.sample_rate <= 0:
            raise DataError(
                f"espeak-ng does not start with its data in {path}. Install "
                "espeakng-loader again."
            )
        if hasattr(self._library, "espeak_ng_SetRandSeed"):
            self._library.espeak_ng_SetRandSeed(ctypes.c_long(seed))
        self._parts = []
        # Kept here: the library only borrows it.
        self._callback = _Callback(self._receive)
        self._library.espeak_SetSynthCallback(self._callback)

    def _short(self, path):
        if len(os.fsencode(path)) <= _LONGEST_PATH:
            return path
        self._folder = tempfile.TemporaryDirectory()
        link = os.path.join(self._folder.name, "data")
        os.symlink(path, link)
        return link

    def _receive(self, samples, count, events):
        if count > 0:
            array = np.ctypeslib.as_array(samples, (count,))
            self._parts.append(array.copy())
        return 0

    def say(self, text, voice, rate=175, pitch=50, pitch_range=50):
        """Speaks a text.

        Args:
            text: String.
            voice: String, an accent, or an accent, `+` and a variant.
            rate: Integer, words a minute, 80 to 450. Default: 175.
            pitch: Integer, 0 to 99. Default: 50.
            pitch_range: Integer, 0 to 99. Default: 50.

        Returns:
            A float32 array of samples at `sample_rate`.
        """
        self._parts.clear()
        if self._library.espeak_SetVoiceByName(voice.encode()) != 0:
            raise DataError(
                "`voice` must be one of espeak-ng's. Received: "
                f"voice={voice!r}."
            )
        for parameter, value in (
            (_RATE, rate),
            (_PITCH, pitch),
            (_RANGE, pitch_range),
        ):
            self._library.espeak_SetParameter(parameter, int(value), 0)
        data = text.encode()
        status = self._library.espeak_Synth(
            data, ctypes.c_size_t(len(data) + 1), 0, 0, 0, _UTF8, None, None
        )
        self._library.espeak_Synchronize()
        if status != 0 or not self._parts:
            raise DataError(
                f"espeak-ng says nothing for {text!r} with voice {voice!r} "
                f"(status {status})."
            )
        return np.concatenate(self._parts).astype("float32") / 32768
