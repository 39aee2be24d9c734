"""Commands composed of the words of Speech Commands, 31 intents.

Fluent Speech Commands has to be asked for. This takes its place: sentences of
an action, an object and sometimes a location, all said by one speaker, out of
the single words that the speaker recorded, with pauses between them and
background noise. An intent has several wordings. The order of the words
matters: `"marvin go sheila"` is not `"sheila go marvin"`, and people correct
themselves, so that `"on two no one"` means one.

Speakers are those of the official lists: nobody is in two splits. Validation
and test have the noises that training does not hear.
"""

import dataclasses
import itertools
import pathlib

import numpy as np

import yaml_tables
from datasets import base
from datasets import decoding
from datasets import speech_commands
from datasets.audio_io import samples_of
from datasets.base import SPLITS
from datasets.base import DataError
from datasets.mixing import excerpt
from datasets.mixing import mix
from datasets.mixing import read_noises
from keras_duspar.utils.audio_files import SAMPLE_RATE

SIZES = (24800, 2480, 2480)
NONE = "none"
_TABLES = yaml_tables.beside(__file__)
INTENTS = tuple(
    sorted(
        intent
        for part in _TABLES["intents"]
        for intent in itertools.product(
            part["actions"], part["objects"], part.get("locations", [NONE])
        )
    )
)
LABELS = tuple(" / ".join(intent) for intent in INTENTS)
KINDS = _TABLES["kinds"]
# The share of commands in which the speaker corrects a word.
CORRECTED = 0.25

FRAME = SAMPLE_RATE // 100
# Shorter than this is a click, not a word.
SHORTEST = SAMPLE_RATE // 10
LEVELS_DB = (-35.0, -20.0)
SNRS_DB = (10.0, 40.0)


def wordings(intent):
    """What can be said for an intent.

    Args:
        intent: Tuple of an action, an object and a location.

    Returns:
        Two lists of tuples of words: plain wordings, and those in which the
        speaker corrects a word.
    """
    a, o, x = intent
    if x == NONE:
        plain = [(a, o), (o, a)]
    elif a == "go":
        # Who or what goes is always said before where it goes.
        plain = [(a, o, x), (o, a, x)]
    else:
        plain = [(a, o, x), (a, x, o), (o, x, a), (x, o, a)]
    corrected = []
    for wording in plain:
        for place, word in enumerate(wording):
            kind = next((kind for kind in KINDS if word in kind), ())
            corrected += [
                (*wording[:place], other, "no", *wording[place:])
                for other in kind
                if other not in wording
            ]
    plain += [("yes", *wording) for wording in plain]
    return plain, corrected


@dataclasses.dataclass(frozen=True, eq=False)
class Sentence:
    """A composed command; its audio is made when it is used.

    Attributes:
        text: Tuple of strings, the words.
        words: Tuple of arrays, their recordings.
        gains: Tuple of floats, the factor of each recording.
        gaps: Tuple of integers, samples before each word and behind the last.
        noise: Array, or `None`.
        offset: Integer, the first sample of the noise that is used.
        snr_db: Float, ratio of the powers of speech and noise.
        label: Tuple of an integer, the intent.
        speaker: String.
    """

    text: tuple
    words: tuple
    gains: tuple
    gaps: tuple
    noise: object
    offset: int
    snr_db: float
    label: tuple
    speaker: str

    @property
    def length(self):
        """Number of samples."""
        return sum(self.gaps) + sum(map(len, self.words))

    @property
    def source(self):
        audio = np.zeros(self.length, "float32")
        start = 0
        for gap, word, gain in zip(self.gaps, self.words, self.gains):
            start += gap
            part = audio[start : start + len(word)]
            np.multiply(samples_of(word), np.float32(gain), out=part)
            # No click where a recording is cut.
            part[:FRAME] *= _RAMP
            part[-FRAME:] *= _RAMP[::-1]
            start += len(word)
        if self.noise is None:
            return audio
        noise = samples_of(excerpt(self.noise, self.offset, len(audio)))
        return mix(audio, noise, self.snr_db)[0]


_RAMP = np.linspace(0, 1, FRAME, dtype="float32")


def recognize(folder):
    """Whether a folder is one of Speech Commands."""
    folder = pathlib.Path(folder).expanduser()
    return not base.missing_parts(folder, speech_commands.LISTS.values())


def load(
    folder, sizes=None, seed=0, cache_dir=None, workers=None, progress=True
):
    """Composes commands of a folder of Speech Commands.

    Args:
        folder: The folder that holds `validation_list.txt`.
        sizes: Three positive integers, the commands for training, validation
            and test, or `None` for `SIZES`.
        seed: Integer of at least 0. The same seed gives the same commands.
            Default: 0.
        cache_dir: Folder to keep the decoded words in, or `None` for memory.
        workers: Positive integer, or `None` for one per core.
        progress: Boolean, whether to show a progress bar. Default: `True`.

    Returns:
        A `Dataset` for `"slu"`. A label is a tuple of one index into
        `labels`, which are sorted and read `"action / object / location"`.
    """
    sizes, seed = base.check_made(sizes or SIZES, seed)
    data = speech_commands.load(folder, speech_commands.WORDS_V1)
    data = decoding.decode(
        data,
        cache="disk" if cache_dir else "memory",
        cache_dir=cache_dir,
        workers=workers,
        progress=progress,
    )
    held_out = read_noises(speech_commands.held_out_paths(folder))
    noises = {"train": data.noises}
    noises["validation"] = noises["test"] = (
        tuple(held_out.values()) or data.noises
    )
    splits = {}
    for split, size in zip(SPLITS, sizes):
        recorded = _recorded(data, split)
        compose = _Composer(recorded, noises[split], split, seed)
        splits[split] = [compose(index) for index in range(size)]
    return base.Dataset(
        name=f"composed commands, {len(LABELS)} intents",
        task="slu",
        splits=splits,
        labels=LABELS,
        noises=data.noises,
        bad=data.bad,
    )


def trim(samples):
    """The part of a recording in which a word is said.

    That is from the first to the last frame of 10 ms that is at most 40 dB
    softer than the loudest and, in decibels, two fifths of the way up to it
    from the background; and 30 ms on either side.

    Args:
        samples: Array of int16 or float32, with shape `(samples,)`.

    Returns:
        A view of it, empty if there is no word.
    """
    count = len(samples) // FRAME
    if count < 3:
        return samples[:0]
    frames = np.asarray(samples[: count * FRAME], "float32")
    frames = frames.reshape(count, FRAME)
    power = np.einsum("ij,ij->i", frames, frames)
    # Of three in a row the middle one: a click is over in one frame.
    power[1:-1] = np.median([power[:-2], power[1:-1], power[2:]], axis=0)
    level = 10 * np.log10(power + 1e-9 * power.max() + 1e-20)
    loudest, background = level.max(), np.percentile(level, 10)
    threshold = max(loudest - 40, background + 0.4 * (loudest - background))
    heard = np.flatnonzero(level >= threshold)
    start = max(heard[0] - 3, 0) * FRAME
    part = samples[start : (heard[-1] + 4) * FRAME]
    return part if len(part) >= SHORTEST else samples[:0]


def _recorded(data, split):
    """Every speaker's recordings of the words that commands are made of.

    Returns:
        A list of `(speaker, {word: [samples, ...]})`, sorted by speaker.
    """
    said = (sum(wordings(intent), start=[]) for intent in INTENTS)
    used = {word for part in said for wording in part for word in wording}
    speakers = {}
    for item in data[split]:
        word = data.labels[item.label]
        if word in used and len(samples := trim(item.source)):
            words = speakers.setdefault(item.speaker, {})
            words.setdefault(word, []).append(samples)
    return sorted(speakers.items())


class _Composer:
    """Composes the commands of a split.

    Args:
        speakers: What `_recorded()` returns.
        noises: Sequence of arrays.
        split: String.
        seed: Integer.
    """

    def __init__(self, speakers, noises, split, seed):
        self.noises = noises
        self.seeds = [seed, SPLITS.index(split)]
        # For each intent, who can say it, and how.
        self.choices = []
        for intent in INTENTS:
            plain, corrected = wordings(intent)
            self.choices.append(
                [
                    (speaker, words, ways, [w for w in corrected if can(w)])
                    for speaker, words in speakers
                    for can in [lambda way, words=words: words.keys() >= {*way}]
                    if (ways := [way for way in plain if can(way)])
                ]
            )
            if not self.choices[-1]:
                raise DataError(
                    f"No speaker of the {split!r} split has recorded all "
                    f"words of {plain[0]}. Is the folder complete? Commands "
                    "are composed of what one speaker says."
                )

    def __call__(self, index):
        """The command at an index; intents take turns."""
        rng = np.random.default_rng([*self.seeds, index])
        label = index % len(INTENTS)
        choices = self.choices[label]
        speaker, recorded, plain, corrected = choices[
            rng.integers(len(choices))
        ]
        ways = corrected if rng.random() < CORRECTED and corrected else plain
        text = ways[rng.integers(len(ways))]
        words = tuple(
            recorded[word][rng.integers(len(recorded[word]))] for word in text
        )
        # One person says all of it about equally loud.
        levels_db = rng.uniform(*LEVELS_DB) + rng.uniform(-3, 3, len(words))
        gains = tuple(
            float(10 ** (level / 20) / root_mean_square(word))
            for level, word in zip(levels_db, words)
        )
        seconds = rng.uniform(0.05, 0.3, len(words) + 1)
        seconds[[0, -1]] = rng.uniform(0.1, 0.4, 2)
        noise, offset = None, 0
        if self.noises:
            noise = self.noises[rng.integers(len(self.noises))]
            offset = int(rng.integers(len(noise)))
        return Sentence(
            text,
            words,
            gains,
            tuple(int(gap) for gap in seconds * SAMPLE_RATE),
            noise,
            offset,
            float(rng.uniform(*SNRS_DB)),
            (label,),
            speaker,
        )


def root_mean_square(samples):
    samples = samples_of(samples)
    return float(np.sqrt(np.vdot(samples, samples) / len(samples)))
