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


def write_words(folder):
    """Writes a folder like Speech Commands 0.01, where words are tones.

    Speakers 0, 1 and 2 are for training, 3 for validation, 4 for test. All
    say every word once, from 0.3 s to 0.6 s, but speaker 0 says no "go".
    """
    import soundfile

    from datasets import speech_commands

    rng = np.random.default_rng(0)
    names = {3: [], 4: []}
    for i, word in enumerate(speech_commands.WORDS_V1):
        (folder / word).mkdir(parents=True)
        for speaker in range(5):
            if word == "go" and speaker == 0:
                continue
            name = f"{word}/{speaker:08x}_nohash_0.wav"
            names.setdefault(speaker, []).append(name)
            audio = 1e-4 * rng.standard_normal(16000)
            hz = 2 * np.pi * (200 + 50 * i + 5 * speaker)
            audio[4800:9600] += tone(4800, 0.2, hz)
            soundfile.write(folder / name, audio, 16000)
    for file, speaker in (("validation_list.txt", 3), ("testing_list.txt", 4)):
        (folder / file).write_text("\n".join(names[speaker]) + "\n")
    (folder / speech_commands.NOISE_FOLDER).mkdir()
    for i, name in enumerate(("pink", "bike", *speech_commands.HELD_OUT)):
        path = folder / speech_commands.NOISE_FOLDER / f"{name}.wav"
        soundfile.write(path, noise(48000, i), 16000)
    return folder
