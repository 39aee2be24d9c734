"""Simple rooms and noises, made of random numbers."""

import numpy as np

from keras_duspar.utils.audio_files import SAMPLE_RATE

NOISES = ("white", "pink", "brown", "hum", "clicks", "babble")


def room(rng, audio):
    """Puts audio into a random room.

    The impulse response is the direct sound, then noise that decays
    exponentially, by 60 dB within 0.1 to 0.5 s.
    """
    decay = rng.uniform(0.1, 0.5)
    length = int(decay * SAMPLE_RATE)
    time = np.arange(length) / SAMPLE_RATE
    tail = rng.standard_normal(length) * 10 ** (-3 * time / decay)
    tail[: int(rng.uniform(0.002, 0.01) * SAMPLE_RATE)] = 0
    # Reverberation is 3 to 20 dB below the direct sound.
    tail *= 10 ** (-rng.uniform(3, 20) / 20) / np.sqrt(np.sum(tail**2))
    tail[0] = 1
    size = len(audio) + length - 1
    fast = 1 << (size - 1).bit_length()
    spectrum = np.fft.rfft(audio, fast) * np.fft.rfft(tail, fast)
    return np.fft.irfft(spectrum, fast)[:size].astype("float32")


def gusts(rng, length):
    """Gains that rise and fall, as the noise of wind, waves and traffic does.

    They have a standard deviation of 3 to 9 dB and change within 0.1 to 1 s.
    """
    step = rng.uniform(0.1, 1.0) * SAMPLE_RATE
    points = np.arange(int(length / step) + 2) * step
    gains_db = rng.uniform(3, 9) * rng.standard_normal(len(points))
    gains_db = np.interp(np.arange(length), points, gains_db)
    return (10 ** (gains_db / 20)).astype("float32")


def noise(rng, kind, length, voices=()):
    """Noise of one of the kinds in `NOISES`, with a power of one.

    Args:
        rng: `numpy.random.Generator`.
        kind: String.
        length: Positive integer, number of samples.
        voices: Sequence of speech, for `"babble"`.

    Returns:
        A float32 array, with shape `(length,)`.
    """
    if kind == "babble":
        audio = _babble(rng, length, voices)
    elif kind == "hum":
        audio = _hum(rng, length)
    elif kind == "clicks":
        audio = _clicks(rng, length)
    else:
        audio = _colored(rng, kind, length)
    audio = audio - audio.mean()
    power = np.mean(np.square(audio))
    return (audio / np.sqrt(power + 1e-20)).astype("float32")


def _colored(rng, kind, length):
    slope = {"white": 0.0, "pink": 0.5, "brown": 1.0}[kind]
    fast = 1 << (length - 1).bit_length()
    spectrum = np.fft.rfft(rng.standard_normal(fast))
    hz = np.arange(len(spectrum)) * SAMPLE_RATE / fast
    # Flat below 20 Hz, else brown noise is a slow drift and nothing else.
    return np.fft.irfft(spectrum * np.maximum(hz, 20.0) ** -slope)[:length]


def _hum(rng, length):
    time = np.arange(length) / SAMPLE_RATE
    base = rng.choice([50.0, 60.0]) * rng.uniform(0.995, 1.005)
    audio = 0.02 * rng.standard_normal(length)
    for harmonic in range(1, 13):
        level = rng.uniform(0.2, 1.0) / harmonic
        phase = rng.uniform(0, 2 * np.pi)
        audio += level * np.sin(2 * np.pi * base * harmonic * time + phase)
    return audio


def _clicks(rng, length):
    audio = 0.01 * rng.standard_normal(length)
    ring = np.arange(int(0.03 * SAMPLE_RATE)) / SAMPLE_RATE
    for _ in range(1 + rng.poisson(6 * length / SAMPLE_RATE)):
        hz = rng.uniform(500, 6000)
        decay = np.exp(-ring * rng.uniform(100, 1000))
        click = np.sin(2 * np.pi * hz * ring) * decay * rng.uniform(0.2, 1)
        start = rng.integers(length)
        click = click[: length - start]
        audio[start : start + len(click)] += click
    return audio


def _babble(rng, length, voices):
    audio = np.zeros(length)
    for _ in range(int(rng.integers(5, 9))):
        voice = voices[rng.integers(len(voices))]
        start = int(rng.integers(len(voice)))
        stretch = np.resize(np.roll(voice, -start), length)
        audio += rng.uniform(0.5, 1) * stretch
    return audio
