"""Synthetic speech, made on the spot: the default data of every recipe.

Eight accents of English times 104 variants of the voice, in random rooms,
with random noise. No variant is in two splits. The same seed gives the same
samples.
"""

import concurrent.futures
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np

from datasets import base
from datasets import decoding
from datasets import espeak
from datasets import progress as bars
from datasets import synthesis
from datasets import texts
from datasets.base import SPLITS
from datasets.base import Clip
from datasets.base import DataError
from datasets.base import Mixture
from datasets.speech_commands import WORDS
from datasets.synthesis import Chunk
from tasks import TASKS

# Part of the cache's name: raise it when the same seed gives other samples.
VERSION = 1
SNRS_DB = (-5.0, 0.0, 5.0, 10.0, 15.0)
# Utterances that one worker process makes; results depend on it.
CHUNK = 150
NOISES = {"train": 24, "validation": 6, "test": 12}


def load(task, sizes=None, seed=0, cache_dir=None, workers=None, progress=True):
    """Makes a data set, or finds it in the cache.

    Args:
        task: String. `"kws"`: the 35 words of Speech Commands. `"slu"`:
            commands for the 31 intents of Fluent Speech Commands. `"se"`:
            sentences, and noise to mix them with.
        sizes: Three positive integers, the utterances for training,
            validation and test, or `None` for the task's own.
        seed: Integer of at least 0. Default: 0.
        cache_dir: Folder of the cache, or `None` for
            `base.default_cache_dir()`.
        workers: Positive integer, number of worker processes, or `None` for
            one per core.
        progress: Boolean, whether to show a progress bar. Default: `True`.

    Returns:
        A `Dataset` whose sources are arrays.
    """
    base.check_choice("task", task, tuple(TASKS))
    sizes = sizes or TASKS[task].synthetic_sizes
    sizes, seed = base.check_made(sizes, seed)
    cache_dir = pathlib.Path(cache_dir or base.default_cache_dir())
    settings = {
        "version": VERSION,
        "task": task,
        "sizes": sizes,
        "seed": seed,
        "variants": espeak.variants(),
    }
    entry = cache_dir.expanduser() / (
        f"synthetic-{task}-{base.fingerprint(settings)}"
    )
    chunks = _chunks(task, dict(zip(SPLITS, sizes)), seed)
    if not entry.is_dir():
        decoding.write_entry(
            entry,
            _make(chunks, workers, progress),
            lambda: {"settings": settings},
        )
    audio, _ = decoding.read_entry(entry)
    parts, position = {}, 0
    for chunk in chunks:
        count = chunk.stop - chunk.start
        part = parts.setdefault((chunk.split, chunk.noises), [])
        part.extend(audio[position : position + count])
        position += count
    return _dataset(task, seed, parts)


def _chunks(task, sizes, seed):
    chunks = []
    for split, size in sizes.items():
        for noises, total in ((False, size), (True, NOISES[split])):
            chunks += [
                Chunk(task, split, seed, i, min(i + CHUNK, total), noises)
                for i in range(0, total, CHUNK)
            ]
    return chunks


def _make(chunks, workers, progress):
    """Yields the audio of all chunks, in order."""
    workers = workers or os.cpu_count() or 1
    total = sum(chunk.stop - chunk.start for chunk in chunks)
    description = f"Synthesizing speech ({chunks[0].task})"
    with (
        concurrent.futures.ThreadPoolExecutor(workers) as pool,
        bars.bar(description, total, progress) as advance,
    ):
        try:
            for arrays in pool.map(_run_worker, chunks):
                for array in arrays:
                    advance()
                    yield array
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _run_worker(chunk):
    """Renders a chunk in a process of its own.

    Not `multiprocessing`, whose workers would first import the recipe again,
    and TensorFlow with it.
    """
    here = str(pathlib.Path(__file__).resolve().parent.parent)
    path = os.environ.get("PYTHONPATH")
    result = subprocess.run(
        [sys.executable, "-m", synthesis.__name__],
        input=pickle.dumps(chunk),
        capture_output=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([here, path] if path else [here]),
            # One process per core is enough.
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        },
    )
    if result.returncode != 0:
        error = result.stderr.decode(errors="replace").strip()
        raise DataError(
            f"A worker process ended with status {result.returncode} while "
            f"it made {chunk}:\n{error[-2000:]}"
        )
    return pickle.loads(result.stdout)


def _dataset(task, seed, parts):
    splits = {}
    for split in SPLITS:
        rng = np.random.default_rng([seed, SPLITS.index(split)])
        noises = parts[split, True]
        items = []
        for index, audio in enumerate(parts[split, False]):
            plan = synthesis.plan(task, split, seed, index)
            variant = plan.voice.partition("+")[2]
            if task != "se":
                items.append(Clip(audio, plan.label, variant))
                continue
            name = f"{split}_{index:04d}"
            if split == "train":
                items.append(Mixture(name, audio, speaker=variant))
                continue
            noise = noises[rng.integers(len(noises))]
            offset = int(rng.integers(len(noise)))
            snr_db = SNRS_DB[rng.integers(len(SNRS_DB))]
            items.append(Mixture(name, audio, noise, offset, snr_db, variant))
        splits[split] = items
    labels = {"kws": WORDS, "slu": texts.INTENTS, "se": ()}[task]
    return base.Dataset(
        name=f"synthetic speech ({task})",
        task=task,
        splits=splits,
        labels=labels,
        noises=tuple(parts["train", True]),
        snrs_db=SNRS_DB if task == "se" else (),
    )
