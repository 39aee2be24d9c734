"""The data of a task: synthetic, or what a folder holds."""

import pathlib

from datasets import base
from datasets import commands12
from datasets import composed_commands
from datasets import decoding
from datasets import fluent_commands
from datasets import mixing
from datasets import other_voices
from datasets import speech_commands
from datasets import synthetic
from datasets import voicebank_demand
from datasets.samples import to_int16
from tasks import TASKS

WORDS = ("all", "commands12")


def load(
    task,
    folder=None,
    sizes=None,
    seed=0,
    cache_dir=None,
    workers=None,
    progress=True,
    words="all",
    other_speech=None,
):
    """Finds the data for a task, decoded and checked, ready for batches.

    Args:
        task: String, `"kws"`, `"slu"` or `"se"`.
        folder: Folder of the data, or `None` for synthetic speech.
            `"kws"`: Speech Commands. `"slu"`: Fluent Speech Commands, or
            Speech Commands to compose commands of. `"se"`: VoiceBank+DEMAND
            or mixtures. Default: `None`.
        sizes: Three positive integers. Synthetic utterances or composed
            commands for training, validation and test; of a folder, the most
            that are used. Default: `None`, for all.
        seed: Integer, seed of synthetic speech, of composed commands and of
            the choice of unknown words. Default: 0.
        cache_dir: Folder to keep decoded and synthetic speech in, or `None`
            for `base.default_cache_dir()`.
        workers: Positive integer, or `None` for one per core.
        progress: Boolean, whether to show progress bars. Default: `True`.
        words: String, the classes of `"kws"`. `"all"`: all words of the data.
            `"commands12"`: ten commands, unknown and silence.
            Default: `"all"`.
        other_speech: Folder of further speech in training. For the twelve
            classes it has none of the commands, and its seconds are unknown
            words. For `"se"` it is a folder of Speech Commands, whose clean
            words are more voices and microphones. Default: `None`.

    Returns:
        A `Dataset`.
    """
    base.check_choice("task", task, tuple(TASKS))
    base.check_choice("words", words, WORDS)
    twelve = task == "kws" and words == "commands12"
    if other_speech is not None and not (twelve or task == "se"):
        raise base.DataError(
            '`other_speech` must be left out unless `task` is "se" or `words` '
            f'is "commands12". Received: other_speech={other_speech!r}, '
            f"task={task!r}, words={words!r}."
        )
    cache_dir = pathlib.Path(cache_dir or base.default_cache_dir())
    if task == "se":
        data = _load_pairs(folder, sizes, seed, cache_dir, workers, progress)
        if other_speech is None:
            return data
        return other_voices.add(
            data, other_speech, cache_dir, workers, progress
        )
    others = [] if other_speech is None else _speech(other_speech)
    if folder is None:
        data = synthetic.load(task, sizes, seed, cache_dir, workers, progress)
        if twelve:
            data = commands12.select(data, seed=seed, other_speech=others)
        return data
    if task == "kws":
        data = speech_commands.load(folder)
    else:
        if composed_commands.recognize(folder):
            return composed_commands.load(
                folder, sizes, seed, cache_dir, workers, progress
            )
        data = fluent_commands.load(folder)
    if sizes is not None and not twelve:
        data = data.take(sizes)
    data = decoding.decode(
        data, cache_dir=cache_dir, workers=workers, progress=progress
    )
    if twelve:
        held_out = mixing.read_noises(speech_commands.held_out_paths(folder))
        data = commands12.select(data, held_out.values(), seed, others)
        data = data.take(sizes) if sizes else data
    return data


def _load_pairs(folder, sizes, seed, cache_dir, workers, progress):
    if folder is None:
        return synthetic.load("se", sizes, seed, cache_dir, workers, progress)
    path = pathlib.Path(folder).expanduser()
    pairs = (path / voicebank_demand.FOLDERS["train"][0]).is_dir()
    data = (voicebank_demand if pairs else mixing).load(path)
    if sizes is not None:
        data = data.take(sizes)
    return decoding.decode(
        data, cache_dir=cache_dir, workers=workers, progress=progress
    )


def _speech(folder):
    how = "Give a folder of recordings in which nobody says a command."
    folder = base.existing_folder(
        folder, "other speech", how, argument="other_speech"
    )
    paths = base.audio_files(folder)
    if not paths:
        raise base.DataError(
            f"`other_speech` must hold recordings. Received: "
            f"other_speech='{folder}', which holds none. {how}"
        )
    # Half the memory of floats, and training takes either.
    return [to_int16(mixing.read_recording(path)) for path in paths]
