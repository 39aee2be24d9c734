"""Decoding and checking a data set once, before any training."""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import shutil
import tempfile
import time
import warnings

import numpy as np

from datasets import progress as bars
from datasets.audio_io import read_audio
from datasets.base import DataError
from datasets.base import check_choice
from datasets.base import fingerprint
from datasets.samples import to_int16
from keras_duspar.utils.audio_files import SAMPLE_RATE
from keras_duspar.utils.audio_files import AudioFileError

CACHE_VERSION = 1


def decode(
    data,
    cache="auto",
    cache_dir=None,
    memory_limit=2 * 1024**3,
    max_bad=0.01,
    workers=None,
    progress=True,
):
    """Reads every file of a data set once and leaves the bad ones out.

    A truncated, empty, silent or missing file, one of a wrong rate and one
    that is no audio is named in a warning and left out, with the whole item
    that it belongs to.

    Args:
        data: A `Dataset`.
        cache: String or `None`. `"memory"`: the decoded audio is kept in
            memory. `"disk"`: in `cache_dir`, where the next run finds it.
            `None`: the files are only checked, and decoded again whenever
            they are used; only noises stay in memory if they fit. `"auto"`:
            on disk if `cache_dir` is given, else in memory up to
            `memory_limit`, else not at all. Default: `"auto"`.
        cache_dir: Folder for `cache="disk"`. Default: `None`.
        memory_limit: Integer, in bytes. Default: 2 GiB.
        max_bad: Float, the largest tolerable share of bad files.
            Default: 0.01.
        workers: Integer, number of threads, or `None` for one per core.
        progress: Boolean, whether to show a progress bar. Default: `True`.

    Returns:
        A `Dataset` whose sources are arrays of 16-bit samples, or still paths
        if nothing is cached.
    """
    check_choice("cache", cache, ("auto", "memory", "disk", None))
    if cache == "disk" and cache_dir is None:
        raise DataError("`cache='disk'` needs `cache_dir`, a folder.")
    paths = list(dict.fromkeys(_paths(data)))
    if not paths:
        return data
    needed = sum(_pcm_bytes(path) for path in paths)
    if cache == "auto":
        fits = needed <= memory_limit
        cache = "disk" if cache_dir else "memory" if fits else None
    kept = set(paths)
    if cache is None:
        # Noises are few and used over and over.
        kept = {str(n) for n in data.noises if not _is_array(n)}
        if sum(map(_pcm_bytes, kept)) > memory_limit:
            kept = set()
    results = _read_all(data, paths, workers, progress, kept)
    if cache == "disk":
        cache_dir = pathlib.Path(cache_dir).expanduser()
        results = _through_disk(data, paths, cache_dir, needed, results)
    decoded, bad = {}, []
    for path, (audio, reason) in zip(paths, results):
        if reason:
            bad.append((path, reason))
        else:
            decoded[path] = path if audio is None else audio
    _judge(data, len(paths), bad, max_bad)
    return _with_decoded(data, decoded, bad)


def _paths(data):
    for items in (*data.splits.values(), data.noises):
        for item in items:
            for source in getattr(item, "sources", (item,)):
                if not _is_array(source):
                    yield str(source)


def _is_array(source):
    return isinstance(source, np.ndarray)


def _pcm_bytes(path):
    """Roughly what a file takes once it is decoded to 16 bits."""
    try:
        size = os.path.getsize(path)
    except OSError:
        return 0
    return 2 * size if path.lower().endswith((".flac", ".ogg")) else size


def _read_all(data, paths, workers, progress, kept):
    """Yields `(int16 samples, reason)` for each path, in order.

    The samples of paths that are not `kept` are `None`.
    """

    def read(path):
        try:
            audio = read_audio(path, data.rates)
        except AudioFileError as e:
            return None, e.reason
        return (to_int16(audio) if path in kept else None), None

    # Few files are on their way at any time, so that memory stays bounded.
    workers = workers or os.cpu_count() or 1
    with (
        concurrent.futures.ThreadPoolExecutor(workers) as pool,
        bars.bar(f"Reading {data.name}", len(paths), progress) as advance,
    ):
        for start in range(0, len(paths), 512):
            for result in pool.map(read, paths[start : start + 512]):
                advance()
                yield result


def _through_disk(data, paths, cache_dir, needed, results):
    """What `_read_all()` yields, as views of one memory-mapped file."""
    stamps = []
    for path in paths:
        try:
            stat = os.stat(path)
            stamps.append([path, stat.st_size, stat.st_mtime_ns])
        except OSError:
            stamps.append([path, 0, 0])
    rates = None if data.rates is None else list(data.rates)
    key = fingerprint([CACHE_VERSION, SAMPLE_RATE, rates, stamps])
    entry = cache_dir / f"decoded-{key}"
    if not entry.is_dir():
        nothing, reasons = np.zeros(0, "int16"), []

        def arrays():
            for audio, reason in results:
                reasons.append(reason)
                yield nothing if reason else audio

        write_entry(entry, arrays(), lambda: {"reasons": reasons}, needed)
    audio, index = read_entry(entry)
    return zip(audio, index["reasons"])


def write_entry(entry, arrays, describe, needed=0):
    """Writes int16 arrays to a cache folder that appears whole or not at all.

    Args:
        entry: `pathlib.Path`, the folder.
        arrays: Iterable of int16 arrays, written as they come.
        describe: Function that returns a dictionary to keep beside them; it
            is called when all arrays have been written.
        needed: Integer, bytes that are expected. Default: 0, not known.
    """
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        _remove_remains(entry)
        partial = pathlib.Path(
            tempfile.mkdtemp(prefix=f".{entry.name}-", dir=entry.parent)
        )
    except OSError as e:
        raise DataError(
            f"`cache_dir` must be a folder that can be written to. Received: "
            f"cache_dir='{entry.parent}' ({e.strerror})."
        ) from e
    try:
        free = shutil.disk_usage(partial).free
        if needed > free:
            raise DataError(
                f"`cache_dir` needs about {needed / 1e9:.1f} GB; there are "
                f"{free / 1e9:.1f} GB left in '{entry.parent}'. Choose "
                "another folder or `cache=None`."
            )
        lengths = []
        with open(partial / "audio.raw", "wb") as file:
            for array in arrays:
                lengths.append(len(array))
                file.write(array.astype("<i2").tobytes())
        index = {"lengths": lengths, **describe()}
        (partial / "index.json").write_text(json.dumps(index))
        try:
            os.rename(partial, entry)
        except OSError:
            # Another process was faster, and wrote the same.
            if not entry.is_dir():
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _remove_remains(entry):
    """Removes what processes that were killed have left, a day later.

    Younger ones may be the work of a process that is still at it.
    """
    for remains in entry.parent.glob(f".{entry.name}-*"):
        if time.time() - remains.stat().st_mtime > 24 * 3600:
            shutil.rmtree(remains, ignore_errors=True)


def read_entry(entry):
    """The arrays and the description that `write_entry()` wrote."""
    try:
        index = json.loads((entry / "index.json").read_text())
        ends = np.cumsum([0, *index["lengths"]])
        size = (entry / "audio.raw").stat().st_size
        if size != 2 * ends[-1]:
            raise ValueError(f"{size} bytes instead of {2 * ends[-1]}")
        raw = (
            np.memmap(entry / "audio.raw", dtype="<i2", mode="r")
            if size
            else np.zeros(0, "int16")
        )
    except (OSError, ValueError, KeyError) as e:
        raise DataError(
            f"The cache folder {entry} is damaged ({e}). Remove it and start "
            "again."
        ) from e
    # Plain arrays over the same memory: slices of `memmap` are slow.
    raw = np.asarray(raw)
    return [raw[a:b] for a, b in zip(ends, ends[1:])], index


def _judge(data, count, bad, max_bad):
    if not bad:
        return
    listed = "\n".join(f"  {path} {reason}" for path, reason in bad[:20])
    if len(bad) > 20:
        listed += f"\n  and {len(bad) - 20} more"
    share = f"{len(bad)} of {count} files ({100 * len(bad) / count:.1f} %)"
    if len(bad) > max_bad * count:
        raise DataError(
            f"{data.name}: {share} are bad, more than {100 * max_bad:g} %:\n"
            f"{listed}\nRepair the data, or get it again."
        )
    warnings.warn(
        f"{data.name}: {share} are bad and left out:\n{listed}", stacklevel=3
    )


def _with_decoded(data, decoded, bad):
    def find(source):
        if _is_array(source):
            return source
        return decoded.get(str(source))

    def replaced(items):
        for item in items:
            sources = [find(source) for source in item.sources]
            if all(source is not None for source in sources):
                yield item.with_sources(sources)

    return dataclasses.replace(
        data,
        splits={s: list(replaced(items)) for s, items in data.splits.items()},
        noises=tuple(
            noise
            for noise in (find(noise) for noise in data.noises)
            if noise is not None
        ),
        bad=(*data.bad, *bad),
    )
