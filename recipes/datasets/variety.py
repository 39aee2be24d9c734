"""Pairs of noisy and clean speech as other people would have recorded them.

A public set has few speakers, one room and one microphone. What was trained on
it alone takes speech of other recordings for noise.
"""

import numpy as np
import soxr

from datasets import acoustics
from keras_duspar.utils.audio_files import SAMPLE_RATE

# Faster speech is higher, as from a smaller head.
SPEEDS = (0.84, 1.25)
HISSES = ("white", "pink", "brown")
NOISES = (*HISSES, "hum", "clicks", "clicks")
SNRS_DB = (-2.0, 28.0)
# What a quiet room and a microphone add to clean speech; it stays there.
HISSES_DB = (26.0, 45.0)
LEVELS_DB = (-30.0, 6.0)
# Between the bands of an equalizer its gain is interpolated.
BANDS_HZ = (0, 60, 150, 400, 1000, 2000, 3500, 5500, 8000)
EQUALIZER_DB = 10.0
# How often a pair gets each of these.
MADE_NOISE, NO_NOISE, HISS, ROOM, NARROW = 0.25, 0.06, 0.5, 0.3, 0.2
GUSTS = 0.3


def vary(noisy, clean, rng, length):
    """Another voice, microphone, room, noise and level.

    Args:
        noisy: Float32 array of speech with noise.
        clean: The same speech without.
        rng: `numpy.random.Generator`.
        length: Positive integer, how many samples are needed. Speech at
            another speed takes up to 1.25 times as many; what lacks is not
            made up.

    Returns:
        Noisy and clean audio, float32, of at most `length` samples.
    """
    noise = noisy - clean
    speed = rng.uniform(*SPEEDS)
    clean, noise = (
        _at_speed(audio, speed)[:length] for audio in (clean, noise)
    )
    if rng.random() < MADE_NOISE:
        noise = acoustics.noise(rng, rng.choice(NOISES), len(clean))
    if rng.random() < ROOM:
        # Of the room, too, a listener wants to hear.
        clean = acoustics.room(rng, clean)[: len(clean)]
    clean, noise = (_equalized(audio, rng) for audio in (clean, noise))
    if rng.random() < GUSTS:
        noise = acoustics.gusts(rng, len(noise)) * noise
    power = float(np.vdot(clean, clean))
    if rng.random() < HISS:
        hiss = acoustics.noise(rng, rng.choice(HISSES), len(clean))
        clean = clean + _at_ratio(hiss, power, rng.uniform(*HISSES_DB))
    noise = _at_ratio(noise, power, rng.uniform(*SNRS_DB))
    if rng.random() < NO_NOISE:
        noise = np.zeros_like(noise)
    noisy = clean + noise
    gain = 10 ** (rng.uniform(*LEVELS_DB) / 20)
    gain = np.float32(min(gain, 1 / max(abs(noisy).max(initial=0), 1e-6)))
    return gain * noisy, gain * clean


def longest(length):
    """Samples of a recording that are enough for `length` at any speed."""
    return int(length * SPEEDS[1]) + 1


def _at_ratio(noise, power, snr_db):
    """`noise` so loud that speech of this power is so far above it."""
    own = float(np.vdot(noise, noise))
    if own == 0:
        return noise
    return np.float32(np.sqrt(power / own * 10 ** (-snr_db / 10))) * noise


def _at_speed(audio, speed):
    return soxr.resample(audio, speed * SAMPLE_RATE, SAMPLE_RATE, quality="LQ")


def _equalized(audio, rng):
    """`audio` through a microphone of random frequency response.

    Its power stays as it was.
    """
    size = len(audio)
    fast = max(2, 1 << size.bit_length())
    hz = np.fft.rfftfreq(fast, 1 / SAMPLE_RATE)
    gains_db = rng.uniform(-EQUALIZER_DB, EQUALIZER_DB, len(BANDS_HZ))
    # Below the first band some microphones hear nothing and some a rumble.
    gains_db[0] = rng.uniform(-40.0, 0.0)
    if rng.random() < NARROW:
        gains_db[np.asarray(BANDS_HZ) > rng.uniform(3000, 8000)] -= 30.0
    gains = 10 ** (np.interp(hz, BANDS_HZ, gains_db) / 20)
    changed = np.fft.irfft(gains * np.fft.rfft(audio, fast))[:size]
    before, after = (float(np.vdot(a, a)) for a in (audio, changed))
    if after > 0:
        changed = changed * np.sqrt(before / after)
    return changed.astype("float32")
