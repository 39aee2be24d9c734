"""Clean speech of many people and microphones, out of Speech Commands.

Its recordings were made by more than a thousand people at home, each with a
microphone and in a room of their own. Most have noise, so only those whose
background is far below the word are used. The words of one person, one after
another, are an utterance.
"""

import dataclasses

import numpy as np

from datasets import base
from datasets import composed_commands
from datasets import decoding
from datasets import speech_commands
from datasets.audio_io import samples_of
from datasets.base import DataError
from keras_duspar.utils.audio_files import SAMPLE_RATE

# Of the loudest 10 ms above the background, which is the frame that 15 % of
# all are below.
LEAST_RANGE_DB = 40.0
BACKGROUND_PERCENTILE = 15
WORDS = 3
# People recorded up to a hundred words; nobody shall be heard all the time.
MOST_PER_SPEAKER = 6
LEVEL_DB = -26.0
FRAME = SAMPLE_RATE // 100
_RAMP = np.linspace(0, 1, FRAME, dtype="float32")


@dataclasses.dataclass(frozen=True, eq=False)
class Utterance(base.Item):
    """Words of one person; their audio is joined when it is used.

    Attributes:
        words: Tuple of arrays, their recordings.
        speaker: String.
    """

    recordings = ()
    # To be drawn, as for a `base.Mixture` without one.
    noise = None

    words: tuple
    speaker: str = ""

    @property
    def clean(self):
        audio = []
        for word in self.words:
            word = samples_of(word)
            gain = 10 ** (LEVEL_DB / 20) / composed_commands.root_mean_square(
                word
            )
            word = np.float32(min(gain, 1 / abs(word).max())) * word
            # No click where one recording follows another.
            word[:FRAME] *= _RAMP
            word[-FRAME:] *= _RAMP[::-1]
            audio.append(word)
        return np.concatenate(audio)


def add(data, folder, cache_dir=None, workers=None, progress=True):
    """Adds the clean words of Speech Commands to training.

    Only the speakers of its training split are heard, with the noises of
    `data` and those of Speech Commands that training may use.

    Args:
        data: A `Dataset` for `"se"`.
        folder: The folder that holds `validation_list.txt`.
        cache_dir: Folder to keep decoded speech in, or `None` for memory.
        workers: Positive integer, or `None` for one per core.
        progress: Boolean, whether to show a progress bar. Default: `True`.

    Returns:
        A `Dataset` with more items, and more noises, for training.
    """
    folder = base.existing_folder(
        folder,
        "Speech Commands",
        speech_commands.HOW,
        speech_commands.LISTS.values(),
        "other_speech",
    )
    words = decoding.decode(
        speech_commands.load(folder),
        cache="disk" if cache_dir else "memory",
        cache_dir=cache_dir,
        workers=workers,
        progress=progress,
    )
    found = utterances(words["train"])
    if not found:
        raise DataError(
            "`other_speech` must hold recordings whose background is at least "
            f"{LEAST_RANGE_DB:g} dB below the speech, {WORDS} of a speaker. "
            f"Received: other_speech='{folder}', which has none."
        )
    return dataclasses.replace(
        data,
        name=f"{data.name}, {len(found)} utterances of other voices",
        splits=data.splits | {"train": [*data["train"], *found]},
        noises=(*data.noises, *words.noises),
        snrs_db=data.snrs_db or (0.0, 5.0, 10.0, 15.0),
    )


def utterances(items):
    """Joins clean words by speaker.

    Args:
        items: List of `Clip`, decoded.

    Returns:
        A list of `Utterance`, of speakers in alphabetical order.
    """
    speakers = {}
    for item in items:
        if dynamic_range(item.source) >= LEAST_RANGE_DB:
            speakers.setdefault(item.speaker, []).append(item.source)
    return [
        Utterance(tuple(recorded[place::count][:WORDS]), speaker)
        for speaker, recorded in sorted(speakers.items())
        # Recordings come word by word: an utterance has different ones.
        for count in [min(len(recorded) // WORDS, MOST_PER_SPEAKER)]
        for place in range(count)
    ]


def dynamic_range(samples):
    """How far the loudest 10 ms are above the background, in decibels."""
    count = len(samples) // FRAME
    if count == 0:
        return 0.0
    frames = samples_of(samples)[: count * FRAME].reshape(count, FRAME)
    power = np.einsum("ij,ij->i", frames, frames) + 1e-9
    background = np.percentile(power, BACKGROUND_PERCENTILE)
    return float(10 * np.log10(power.max() / background))
