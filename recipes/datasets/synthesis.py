"""Making synthetic utterances; runs as a worker process of `synthetic`.

A worker gets one chunk on its standard input and ends with it. Chunks are
fixed by the settings alone, so that the state of the synthesizer, and with it
every sample, is the same however many workers there are.
"""

import dataclasses
import functools
import hashlib
import pickle
import sys

import numpy as np

from datasets import acoustics
from datasets import espeak
from datasets import texts
from datasets.base import SPLITS
from datasets.samples import resample
from datasets.samples import to_int16
from keras_duspar.utils.audio_files import SAMPLE_RATE
from tasks import TASKS

NOISE_SECONDS = 10
# Shares of the voices' variants.
_SHARES = {"train": (0.0, 0.7), "validation": (0.7, 0.85), "test": (0.85, 1.0)}
_BABBLE_VOICES = 6


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Some successive utterances, or noises, of a split.

    Attributes:
        task: String, `"kws"`, `"slu"` or `"se"`.
        split: String.
        seed: Integer.
        start: Integer, index of the first one.
        stop: Integer, index behind the last one.
        noises: Boolean, whether it is noises that are wanted.
    """

    task: str
    split: str
    seed: int
    start: int
    stop: int
    noises: bool = False


@dataclasses.dataclass(frozen=True)
class Utterance:
    """What is said, and how."""

    text: str
    label: object
    voice: str
    rate: int
    pitch: int
    pitch_range: int


@functools.cache
def variants(split):
    """The voice variants of a split; no other split has them."""

    def scatter(name):
        return hashlib.sha256(name.encode()).digest()

    names = sorted(espeak.variants(), key=scatter)
    low, high = (round(share * len(names)) for share in _SHARES[split])
    return tuple(names[low:high])


def plan(task, split, seed, index):
    """What utterance `index` of a split is."""
    rng = _random(task, split, seed, index, 0)
    if task == "kws":
        text, label = texts.word(index)
    elif task == "slu":
        text, label = texts.command(rng, index)
    else:
        text, label = texts.sentence(rng), None
    return _spoken(rng, split, text, label)


def _spoken(rng, split, text, label=None):
    names = variants(split)
    accent = espeak.ACCENTS[rng.integers(len(espeak.ACCENTS))]
    return Utterance(
        text,
        label,
        f"{accent}+{names[rng.integers(len(names))]}",
        int(rng.integers(130, 231)),
        int(rng.integers(20, 81)),
        int(rng.integers(30, 71)),
    )


def _random(task, split, seed, index, purpose):
    return np.random.default_rng(
        [seed, list(TASKS).index(task), SPLITS.index(split), index, purpose]
    )


def render(chunk):
    """Makes the int16 audio of every utterance or noise of a chunk."""
    synthesizer = espeak.Espeak(seed=chunk.seed % 2**31)

    def say(spoken):
        audio = synthesizer.say(
            spoken.text,
            spoken.voice,
            spoken.rate,
            spoken.pitch,
            spoken.pitch_range,
        )
        return trim(resample(audio, synthesizer.sample_rate))

    key = (chunk.task, chunk.split, chunk.seed)
    rng = _random(*key, chunk.start, 1 + chunk.noises)
    babble = [
        say(_spoken(rng, chunk.split, texts.sentence(rng)))
        for _ in range(_BABBLE_VOICES)
    ]
    audio = []
    for index in range(chunk.start, chunk.stop):
        rng = _random(*key, index, 3 + chunk.noises)
        if chunk.noises:
            kind = acoustics.NOISES[index % len(acoustics.NOISES)]
            length = NOISE_SECONDS * SAMPLE_RATE
            noise = acoustics.noise(rng, kind, length, babble)
            # Loud enough for 16 bits, and without clipping.
            audio.append(to_int16(noise * 0.5 / np.abs(noise).max()))
            continue
        spoken = say(plan(*key, index))
        audio.append(to_int16(recorded(rng, chunk.task, spoken, babble)))
    return audio


def recorded(rng, task, audio, babble):
    """Speech as a microphone in a room would have it."""
    if rng.random() < 0.7:
        audio = acoustics.room(rng, audio)
    if task == "kws":
        audio = one_second(rng, audio)
    else:
        before, after = rng.integers(800, 4800, size=2)
        audio = np.pad(audio, (before, after))
    audio = audio * 10 ** (-rng.uniform(3, 20) / 20) / np.abs(audio).max()
    if task == "se":
        return audio  # noise is added later, and this is to be restored
    kind = acoustics.NOISES[rng.integers(len(acoustics.NOISES))]
    noise = acoustics.noise(rng, kind, len(audio), babble)
    loudness = np.sqrt(np.mean(np.square(audio)))
    audio = audio + noise * loudness * 10 ** (-rng.uniform(10, 40) / 20)
    return audio / max(np.abs(audio).max(), 1)


def one_second(rng, audio):
    """Puts a word at a random place within one second."""
    target = np.zeros(SAMPLE_RATE, "float32")
    if len(audio) > len(target):
        # What is too much is mostly reverberation.
        audio = audio[: len(target)]
    start = rng.integers(len(target) - len(audio) + 1)
    target[start : start + len(audio)] = audio
    return target


def trim(audio):
    """Cuts the silence at both ends, down to 10 ms."""
    loud = np.flatnonzero(np.abs(audio) > 0.01 * np.abs(audio).max())
    margin = SAMPLE_RATE // 100
    return audio[max(loud[0] - margin, 0) : loud[-1] + margin]


def main():
    """Reads a pickled chunk and writes its pickled audio."""
    chunk = pickle.load(sys.stdin.buffer)
    pickle.dump(render(chunk), sys.stdout.buffer)


if __name__ == "__main__":
    main()
