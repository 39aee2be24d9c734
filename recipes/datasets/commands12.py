"""Keyword spotting with twelve classes: ten commands, unknown and silence.

The classes, their order and their shares are those of TensorFlow's tutorial
on Speech Commands: in each split, unknown words and silence are each a tenth
of the number of commands. Unknown are all other words. Silence is background
noise at any level; some of it is very quiet, and some is digital zero. For a
detector that hears sentences, too, training may have seconds of other speech
as further unknown words.
"""

import dataclasses
import math

import numpy as np

from datasets.audio_io import samples_of
from datasets.base import SPLITS
from datasets.base import DataError
from datasets.mixing import excerpt
from keras_duspar.utils.audio_files import SAMPLE_RATE

SILENCE, UNKNOWN = "silence", "unknown"
# fmt: off
COMMANDS = (
    "yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go",
)
# fmt: on
LABELS = (SILENCE, UNKNOWN, *COMMANDS)
# Of unknown words and of silence, relative to the commands.
SHARE = 0.1
# Of other speech, relative to the commands.
SPEECH_SHARE = 0.5
# Stretches of silence that an epoch of training chooses from, per one used.
VARIETY = 10


@dataclasses.dataclass(frozen=True, eq=False)
class Second:
    """A second of a longer recording.

    Attributes:
        recording: Array.
        offset: Integer, the first sample that is used.
        volume: Float, factor of the samples.
        label: Integer.
    """

    recording: object
    offset: int
    volume: float
    label: int
    speaker: str = ""

    @property
    def source(self):
        part = samples_of(excerpt(self.recording, self.offset, SAMPLE_RATE))
        return np.float32(self.volume) * part


def select(data, held_out=(), seed=0, other_speech=()):
    """Makes the twelve classes of a data set of single words.

    Which unknown words and which stretches of noise are used in validation
    and test is fixed by the seed. Every epoch of training draws its own.

    Args:
        data: A `Dataset` for `"kws"`, decoded, whose labels include the ten
            commands.
        held_out: Sequence of arrays, noises that only validation and test
            hear, besides those of the data. Default: none.
        seed: Integer. Default: 0.
        other_speech: Sequence of arrays, speech without the commands, whose
            seconds training hears as unknown words. Default: none.

    Returns:
        A `Dataset` whose labels are `LABELS`.
    """
    missing = [word for word in COMMANDS if word not in data.labels]
    if missing:
        raise DataError(
            f"`data` must hold the words {', '.join(COMMANDS)}. "
            f"{data.name} lacks: {', '.join(missing)}."
        )
    if not data.noises:
        raise DataError(
            f"`data` must have background noise, to make silence of. "
            f"{data.name} has none."
        )
    splits, per_epoch = {}, {}
    for split in SPLITS:
        rng = np.random.default_rng([seed, SPLITS.index(split)])
        wanted, unknown = [], []
        for item in data[split]:
            word = data.labels[item.label]
            known = word in COMMANDS
            label = LABELS.index(word if known else UNKNOWN)
            item = dataclasses.replace(item, label=label)
            (wanted if known else unknown).append(item)
        count = math.ceil(SHARE * len(wanted))
        if split == "train":
            per_epoch = {LABELS.index(c): count for c in (SILENCE, UNKNOWN)}
            silence = _silence(rng, data.noises, VARIETY * count)
            seconds = _seconds(other_speech)
            if seconds:
                more = math.ceil(SPEECH_SHARE * len(wanted))
                per_epoch[LABELS.index(UNKNOWN)] += more
                unknown += seconds
        else:
            chosen = sorted(rng.permutation(len(unknown))[:count])
            unknown = [unknown[i] for i in chosen]
            silence = _silence(rng, (*data.noises, *held_out), count)
        splits[split] = [*silence, *unknown, *wanted]
    return dataclasses.replace(
        data,
        name=f"{data.name.partition(',')[0]}, {len(LABELS)} classes",
        splits=splits,
        labels=LABELS,
        per_epoch=per_epoch,
    )


def shift_of_unknown(data):
    """How other speech in training shifts the scores of all classes.

    Args:
        data: A `Dataset` of `select()`.

    Returns:
        An array with the logarithm of how much more often an epoch has an
        unknown word than without other speech, and zeros for the others.
    """
    shift = np.zeros(len(LABELS), "float32")
    silence, unknown = (
        data.per_epoch[i] for i in map(LABELS.index, LABELS[:2])
    )
    shift[LABELS.index(UNKNOWN)] = math.log(unknown / silence)
    return shift


def _silence(rng, noises, count):
    items = []
    for _ in range(count):
        noise = noises[rng.integers(len(noises))]
        offset = int(rng.integers(len(noise)))
        kind = rng.random()
        if kind < 0.1:
            volume = 0.0
        elif kind < 0.4:
            volume = 10 ** (rng.uniform(-80, -20) / 20)
        else:
            volume = rng.random()
        items.append(
            Second(noise, offset, float(volume), LABELS.index(SILENCE))
        )
    return items


def _seconds(recordings):
    return [
        Second(recording, offset, 1.0, LABELS.index(UNKNOWN))
        for recording in recordings
        for offset in range(0, len(recording) - SAMPLE_RATE + 1, SAMPLE_RATE)
    ]
