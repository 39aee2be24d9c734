"""The resampler and the input in C, called from Python."""

from ctypes import POINTER
from ctypes import c_float
from ctypes import c_int16

import numpy as np
import pytest

from tests.native.listening import InputSettings
from tests.native.listening import Library

pytestmark = pytest.mark.any_backend


@pytest.fixture(scope="module")
def library():
    return Library()


class Resampler:
    def __init__(self, library, rate, new_rate):
        self._library = library
        self.handle = library.resampler_create(rate, new_rate)
        self.delay = library.resampler_delay(self.handle)

    def __call__(self, samples):
        samples = np.ascontiguousarray(samples, "float32")
        room = self._library.resampler_room(self.handle, len(samples))
        output = np.full(room + 1, np.nan, "float32")
        count = self._library.resampler_run(
            self.handle, samples.ctypes.data, len(samples), output.ctypes.data
        )
        assert count <= room and np.isnan(output[count:]).all()
        return output[:count]

    def __del__(self):
        self._library.resampler_destroy(self.handle)


RATES = [
    (8000, 16000),
    (11025, 16000),
    (22050, 16000),
    (32000, 16000),
    (44100, 16000),
    (48000, 16000),
    (16000, 48000),
    (47999, 8000),
]


@pytest.mark.parametrize("rate, new_rate", RATES)
def test_resampler_as_soxr(library, rate, new_rate, rng):
    """Sound of the passband: as soxr's best, which is late by as much."""
    soxr = pytest.importorskip("soxr")
    seconds = np.arange(rate) / rate
    top = 0.87 * min(rate, new_rate) / 2
    sound = sum(
        np.sin(2 * np.pi * f * seconds + rng.uniform(0, 6)) / 20
        for f in rng.uniform(50, top, 20)
    )
    resampler = Resampler(library, rate, new_rate)
    late = np.concatenate([np.zeros(resampler.delay), sound])
    expected = soxr.resample(late, rate, new_rate, quality="VHQ")
    found = []
    for block in np.array_split(sound, 37):
        found.append(resampler(block))
    found = np.concatenate(found)
    assert abs(len(found) - new_rate) <= 1
    # Beyond the edges, where the sound is cut off.
    kept = slice(new_rate // 10, new_rate - new_rate // 10)
    error = found[kept] - expected[: len(found)][kept]
    level = np.sqrt(np.mean(expected[kept] ** 2))
    assert np.sqrt(np.mean(error**2)) < 1e-3 * level  # -60 dB
    # A constant stays one.
    constant = resampler(np.ones(rate))[-100:]
    np.testing.assert_allclose(constant, 1, atol=1e-5)


@pytest.mark.parametrize("rate, new_rate", RATES)
def test_resampler_does_not_alias(library, rate, new_rate):
    """Tones that the output cannot hold, or images of those that it can."""
    seconds = np.arange(rate) / rate
    half = min(rate, new_rate) / 2
    if new_rate < rate:
        tones = np.linspace(half, rate / 2, 9)[:-1]
        pure = [np.sin(2 * np.pi * f * seconds) for f in tones]
        for sound in pure:
            found = Resampler(library, rate, new_rate)(sound)
            assert np.abs(found[new_rate // 10 :]).max() < 1e-3  # -60 dB
        return
    for f in np.linspace(100, 0.87 * half, 5):
        f = round(f)  # whole periods in a second
        sound = np.sin(2 * np.pi * f * seconds)
        found = Resampler(library, rate, new_rate)(np.tile(sound, 2))
        power = np.abs(np.fft.rfft(found[-new_rate:])) ** 2
        assert power[f] / power.sum() > 1 - 1e-6


def test_bad_rates(library):
    for rates in ((7999, 16000), (16000, 48001), (0, 0)):
        assert not library.resampler_create(*rates)
        assert b"must be from 8000 to 48000" in library.last_error()
    for bad in (
        InputSettings(7000, 16000, 256, 0),
        InputSettings(16000, 16000, 0, 0),
        InputSettings(16000, 16000, 256, float("nan")),
    ):
        assert not library.input_create(bad)


def pull_all(library, handle, samples):
    chunks = []
    while True:
        chunk = np.zeros(samples, "float32")
        if not library.input_pull(handle, chunk.ctypes.data):
            return chunks
        chunks.append(chunk)


def as_pointer(array, kind):
    return array.ctypes.data_as(POINTER(kind))


@pytest.mark.parametrize("rate", [16000, 44100])
def test_input(library, rate, rng):
    """Pieces of any size and both kinds make the chunks of the whole."""
    handle = library.input_create(InputSettings(rate, 16000, 256, 0.5))
    integers = rng.integers(-32768, 32768, 3 * rate).astype("int16")
    floats = integers.astype("float32") / 32768
    expected = floats
    if rate != 16000:
        expected = Resampler(library, rate, 16000)(floats)
    found, start = [], 0
    while start < len(integers):
        size = int(rng.integers(0, rate // 2))
        whole = rng.random() < 0.5
        block = (integers if whole else floats)[start : start + size].copy()
        push = library.input_push_int16 if whole else library.input_push
        pointer = as_pointer(block, c_int16 if whole else c_float)
        assert push(handle, pointer, len(block)) == len(block)
        found += pull_all(library, handle, 256)
        start += size
    found = np.concatenate(found)
    assert len(expected) - len(found) < 256
    np.testing.assert_array_equal(found, expected[: len(found)])
    assert library.input_dropped(handle) == 0
    library.input_destroy(handle)


def test_input_takes_anything(library):
    handle = library.input_create(InputSettings(16000, 16000, 4, 0))
    odd = [np.nan, np.inf, -np.inf, 7, -7, 1e-30, 0.5, -0.0]
    odd = np.array(odd, "float32")
    library.input_push(handle, as_pointer(odd, c_float), 8)
    found = np.concatenate(pull_all(library, handle, 4))
    np.testing.assert_array_equal(
        found, np.array([0, 1, -1, 1, -1, 1e-30, 0.5, 0], "float32")
    )
    # What there is no room for is dropped, and counted.
    many = np.ones(1 << 20, "float32")
    taken = library.input_push(handle, as_pointer(many, c_float), len(many))
    assert 16000 <= taken < len(many)
    assert library.input_dropped(handle) == len(many) - taken
    assert len(pull_all(library, handle, 4)) == taken // 4
    library.input_push(handle, as_pointer(odd, c_float), 3)
    library.input_reset(handle)
    library.input_push(handle, as_pointer(odd, c_float), 4)
    np.testing.assert_array_equal(pull_all(library, handle, 4), [[0, 1, -1, 1]])
    library.input_destroy(handle)
