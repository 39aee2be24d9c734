"""Small data sets of tones and noise, for tests of batches."""

import numpy as np

from datasets import base


def tone(samples, level=0.2, hz=300):
    return level * np.sin(hz * np.arange(samples) / 16000).astype("float32")


def noise(samples, seed=0):
    return 0.1 * np.random.default_rng(seed).standard_normal(samples)


def word_data(count=50, noises=()):
    items = [
        base.Clip(tone(16000, 0.01 * (i + 1)), i % 5) for i in range(count)
    ]
    return base.Dataset(
        "words",
        "kws",
        {"train": items, "validation": items[:7], "test": items[:7]},
        tuple("abcde"),
        noises=noises,
    )


def command_data(count=60):
    rng = np.random.default_rng(1)
    items = [
        base.Clip(
            tone(int(n), 0.1), (i % 3,) if i % 2 else (i % 3, (i + 1) % 3)
        )
        for i, n in enumerate(rng.integers(4000, 40000, count))
    ]
    return base.Dataset(
        "commands",
        "slu",
        {"train": items, "validation": items[:9], "test": items[:9]},
        tuple("xyz"),
    )


def speech_data():
    train = [
        base.Mixture(f"m{i}", tone(5000 + 1000 * i, 0.3)) for i in range(12)
    ]
    fixed = [
        base.Mixture(f"f{i}", tone(5000 + 100 * i), noise(2000, i), 30, 5.0)
        for i in range(5)
    ]
    pairs = [
        base.Pair(f"p{i}", tone(900 + i, 0.3), tone(900, 0.2)) for i in range(3)
    ]
    return base.Dataset(
        "speech",
        "se",
        {"train": train, "validation": fixed, "test": pairs},
        noises=(noise(30000, 8), noise(3000, 9)),
        snrs_db=(0.0, 10.0),
    )
