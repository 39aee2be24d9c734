"""What every source of speech returns, and what its errors look like."""

import csv
import dataclasses
import hashlib
import json
import os
import pathlib

import numpy as np

SPLITS = ("train", "validation", "test")


class DataError(ValueError):
    """The data cannot be used; the message says what to do about it."""


class Item:
    """What a data set holds. `recordings` names the fields that are audio."""

    recordings = ("source",)

    @property
    def sources(self):
        """The paths or arrays of the recordings that there are."""
        found = (getattr(self, name) for name in self.recordings)
        return tuple(source for source in found if source is not None)

    def with_sources(self, sources):
        """The same item with other paths or arrays."""
        return dataclasses.replace(self, **dict(zip(self.recordings, sources)))


@dataclasses.dataclass(frozen=True, eq=False)
class Clip(Item):
    """A recording and what is said in it.

    Attributes:
        source: Path of a file, or an array of samples, int16 or float32.
        label: Integer, the index of a word; or a tuple of integers, the
            intents of a command, in order.
        speaker: String, who speaks, empty where it is not known.
    """

    source: object
    label: object
    speaker: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class Pair(Item):
    """Two recordings of the same speech, with and without noise."""

    recordings = ("noisy", "clean")

    id: str
    noisy: object
    clean: object
    speaker: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class Mixture(Item):
    """Clean speech that noise is added to when it is used.

    Attributes:
        id: String.
        clean: Path or array.
        noise: Path or array, or `None` to draw one of the data set's
            `noises`, a place in it and one of its `snrs_db` anew in every
            epoch.
        offset: Integer, the first sample of the noise that is used.
        snr_db: Float, ratio of the powers of speech and noise.
        speaker: String.
    """

    recordings = ("clean", "noise")

    id: str
    clean: object
    noise: object = None
    offset: int = 0
    snr_db: float = 0.0
    speaker: str = ""


@dataclasses.dataclass(frozen=True)
class Dataset:
    """Items of a task in three splits.

    Attributes:
        name: String, for reports.
        task: String, `"kws"`, `"slu"` or `"se"`.
        splits: Dictionary from each of `SPLITS` to a list of items.
        labels: Tuple of strings, the words or intents; their order is that of
            the model's outputs. Empty for enhancement.
        noises: Tuple of paths or arrays that training mixes in.
        snrs_db: Tuple of floats, the ratios that training mixes at.
        per_epoch: Dictionary from a label to the number of its training items
            that an epoch uses, drawn anew in every epoch. Default: none, which
            is to use all items of all labels.
        rates: Tuple of the sample rates that a file may have, or `None` for
            any; files of another rate are bad.
        bad: Tuple of `(path, reason)`, the files that `decode()` left out.
    """

    name: str
    task: str
    splits: dict
    labels: tuple = ()
    noises: tuple = ()
    snrs_db: tuple = ()
    per_epoch: dict = dataclasses.field(default_factory=dict)
    rates: tuple | None = None
    bad: tuple = ()

    def __post_init__(self):
        for split in SPLITS:
            if not self.splits.get(split):
                raise DataError(
                    f"{self.name} has no usable item in its {split!r} split. "
                    "Is the folder complete?"
                )

    def __getitem__(self, split):
        check_choice("split", split, SPLITS)
        return self.splits[split]

    def take(self, count):
        """The same data set with fewer items.

        The items are spread evenly over each split, so that all labels stay
        represented as far as possible.

        Args:
            count: Positive integer, the most that a split keeps; or three of
                them, for training, validation and test.
        """
        counts = (count,) * 3 if np.isscalar(count) else tuple(count)
        if len(counts) != 3 or min(counts) < 1:
            raise DataError(
                "`count` must be one or three positive integers. Received: "
                f"count={count}."
            )
        splits = {}
        for split, most in zip(SPLITS, counts):
            items = self.splits[split]
            chosen = np.linspace(0, len(items) - 1, min(most, len(items)))
            splits[split] = [items[i] for i in chosen.astype(int)]
        share = len(splits["train"]) / len(self.splits["train"])
        per_epoch = {
            label: max(1, round(share * count))
            for label, count in self.per_epoch.items()
        }
        return dataclasses.replace(self, splits=splits, per_epoch=per_epoch)

    def summary(self):
        """One line for logs and reports."""
        counts = ", ".join(f"{len(self.splits[s])} {s}" for s in SPLITS)
        labels = f", {len(self.labels)} labels" if self.labels else ""
        if self.per_epoch:
            drawn = (f"{n} {self.labels[i]}" for i, n in self.per_epoch.items())
            labels += f", an epoch draws {' and '.join(drawn)}"
        bad = f", {len(self.bad)} bad files left out" if self.bad else ""
        return f"{self.name}: {counts}{labels}{bad}"


def existing_folder(path, what, how, parts=(), argument="folder"):
    """Returns `path` as a `pathlib.Path`, or raises if there is no folder.

    Args:
        path: The folder.
        what: String, what should lie there.
        how: String, where to get it.
        parts: Names of files and folders that it must hold. Default: none.
        argument: String, what the path was given as. Default: `"folder"`.
    """
    path = pathlib.Path(path).expanduser()
    if not path.is_dir():
        state = "is a file" if path.exists() else "does not exist"
        raise DataError(
            f"`{argument}` must be the folder of {what}. Received: "
            f"{argument}='{path}', which {state}. {how}"
        )
    missing = missing_parts(path, parts)
    if missing:
        raise DataError(
            f"`folder` lacks {', '.join(missing)}. Received: "
            f"folder='{path}'. {how}"
        )
    return path


def missing_parts(folder, names):
    """Those of `names` that are not in `folder`."""
    return [name for name in names if not (folder / name).exists()]


def read_table(path, columns):
    """Yields the place and the row of every line of a CSV file.

    Args:
        path: `pathlib.Path` of the file.
        columns: Names of the columns that it must have.
    """
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            lacking = [c for c in columns if c not in (rows.fieldnames or ())]
            if lacking:
                raise DataError(
                    f"{path} must have the columns {', '.join(columns)}. It "
                    f"lacks: {', '.join(lacking)}."
                )
            for row in rows:
                yield f"{path}, line {rows.line_num}", row
    except (csv.Error, UnicodeDecodeError) as e:
        raise DataError(f"{path} is no CSV file in UTF-8: {e}.") from e


def check_choice(name, value, choices):
    """Raises unless an argument is one of its choices."""
    if value not in choices:
        raise DataError(
            f"`{name}` must be one of {', '.join(map(repr, choices))}. "
            f"Received: {name}={value!r}."
        )


def check_made(sizes, seed):
    """The three sizes and the seed of data that is made, or an error."""
    sizes, seed = tuple(int(size) for size in sizes), int(seed)
    if len(sizes) != 3 or min(sizes) < 1:
        raise DataError(
            "`sizes` must be three positive integers, for training, "
            f"validation and test. Received: sizes={sizes}."
        )
    if seed < 0:
        raise DataError(
            f"`seed` must be an integer of at least 0. Received: seed={seed}."
        )
    return sizes, seed


def audio_files(folder):
    """All audio files below `folder`, sorted, hidden ones left out."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in (".wav", ".flac", ".ogg")
        and not path.name.startswith(".")
    )


def some(names, count=3):
    """`names` for a message: the first few and how many more there are."""
    names = [str(name) for name in names]
    more = len(names) - count
    listed = ", ".join(names[:count])
    return f"{listed} and {more} more" if more > 0 else listed


def default_cache_dir():
    """Where decoded and synthetic speech is kept between runs."""
    given = os.environ.get("KERAS_DUSPAR_CACHE")
    if given:
        return pathlib.Path(given).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return pathlib.Path(base).expanduser() / "keras_duspar"


def fingerprint(settings):
    """A short hash of JSON-compatible `settings`, to name cache entries."""
    text = json.dumps(settings, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]
