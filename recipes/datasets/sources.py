"""The data of a task: synthetic, or what a folder holds."""

import pathlib

from datasets import base
from datasets import decoding
from datasets import fluent_commands
from datasets import mixing
from datasets import speech_commands
from datasets import synthetic
from datasets import voicebank_demand
from datasets.base import DataError


def load(
    task,
    folder=None,
    sizes=None,
    seed=0,
    cache_dir=None,
    workers=None,
    progress=True,
):
    """Finds the data for a task, decoded and checked, ready for batches.

    Args:
        task: String, `"kws"`, `"slu"` or `"se"`.
        folder: Folder of Speech Commands, of Fluent Speech Commands, or of
            VoiceBank+DEMAND or mixtures, or `None` for synthetic speech.
            Default: `None`.
        sizes: Three positive integers. Synthetic utterances for training,
            validation and test; of a folder, the most that are used.
            Default: `None`, for all.
        seed: Integer, seed of synthetic speech. Default: 0.
        cache_dir: Folder to keep decoded and synthetic speech in, or `None`
            for `base.default_cache_dir()`.
        workers: Positive integer, or `None` for one per core.
        progress: Boolean, whether to show progress bars. Default: `True`.

    Returns:
        A `Dataset`.
    """
    cache_dir = pathlib.Path(cache_dir or base.default_cache_dir())
    if folder is None:
        return synthetic.load(task, sizes, seed, cache_dir, workers, progress)
    if task == "kws":
        data = speech_commands.load(folder)
    elif task == "slu":
        data = fluent_commands.load(folder)
    elif task == "se":
        path = pathlib.Path(folder).expanduser()
        pairs = (path / voicebank_demand.FOLDERS["train"][0]).is_dir()
        data = (voicebank_demand if pairs else mixing).load(path)
    else:
        raise DataError(
            f"`task` must be 'kws', 'slu' or 'se'. Received: task={task!r}."
        )
    if sizes is not None:
        data = data.take(sizes)
    return decoding.decode(
        data, cache_dir=cache_dir, workers=workers, progress=progress
    )
