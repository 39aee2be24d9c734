"""Google Speech Commands: one-second recordings of single words.

Version 0.02 has 35 words, version 0.01 the first 30 of the next lists. The
folder is that of the published archive, `<word>/<speaker>_nohash_<n>.wav`;
`.flac` in place of `.wav` works as well.
"""

import pathlib
import warnings

from datasets import base
from datasets import download as downloads
from datasets.base import Clip
from datasets.base import DataError
from keras_duspar.utils.audio_files import SAMPLE_RATE

# fmt: off
WORDS_V1 = (
    "bed", "bird", "cat", "dog", "down", "eight", "five", "four", "go",
    "happy", "house", "left", "marvin", "nine", "no", "off", "on", "one",
    "right", "seven", "sheila", "six", "stop", "three", "tree", "two", "up",
    "wow", "yes", "zero",
)
# fmt: on
NEW_IN_V2 = ("backward", "follow", "forward", "learn", "visual")
WORDS = tuple(sorted(WORDS_V1 + NEW_IN_V2))
NOISE_FOLDER = "_background_noise_"
# Noises that training does not hear, to test with.
HELD_OUT = ("doing_the_dishes", "running_tap")
LISTS = {"validation": "validation_list.txt", "test": "testing_list.txt"}

URL = (
    "https://storage.googleapis.com/download.tensorflow.org/data/"
    "speech_commands_v{version}.tar.gz"
)
SHA256 = {
    "0.01": "743935421bb51cccdb6bdd152e04c5c70274e935c82119ad7faeec31780d811d",
    "0.02": "af14739ee7dc311471de98f5f9d2c9191b18aedfe957f4a6ff791c709868ff58",
}
HOW = (
    "`speech_commands.download(folder)` fetches version 0.02 (2.4 GB) from "
    + URL.format(version="0.02")
    + "."
)


def load(folder, words=None):
    """Reads a folder of Speech Commands.

    Args:
        folder: The folder that holds `validation_list.txt`.
        words: Sequence of strings, the words to tell apart, in the order of
            the labels; or `None` for all 35, or 30 where the five that came
            with version 0.02 are absent. Default: `None`.

    Returns:
        A `Dataset` for `"kws"`.
    """
    folder = base.existing_folder(
        folder, "Speech Commands", HOW, LISTS.values()
    )
    if words is None:
        new = any((folder / word).is_dir() for word in NEW_IN_V2)
        words = WORDS if new else WORDS_V1
    words = tuple(words)
    missing = base.missing_parts(folder, words)
    if missing:
        raise DataError(
            f"`folder` lacks a folder for each of {len(missing)} of "
            f"{len(words)} words: {base.some(missing)}. Received: "
            f"folder='{folder}'. {HOW}"
        )
    label_of = {word: label for label, word in enumerate(words)}
    listed = {
        split: _read_list(folder / name, label_of)
        for split, name in LISTS.items()
    }
    both = set(listed["validation"]) & set(listed["test"])
    if both:
        raise DataError(
            f"{' and '.join(LISTS.values())} must not overlap. Both list: "
            f"{base.some(sorted(both))}."
        )
    splits = {"train": [], "validation": [], "test": []}
    split_of = {name: s for s, names in listed.items() for name in names}
    found = set()
    for word in words:
        files = base.audio_files(folder / word)
        if not files:
            raise DataError(f"There is no recording in {folder / word}.")
        for path in files:
            name = f"{word}/{path.stem}"
            found.add(name)
            clip = Clip(path, label_of[word], path.stem.split("_nohash_")[0])
            splits[split_of.get(name, "train")].append(clip)
    _check_lists(folder, split_of, found)
    held_out = held_out_paths(folder)
    noises = [path for path in _noises(folder) if path not in held_out]
    if not noises:
        warnings.warn(
            f"There is no {NOISE_FOLDER} in {folder}: training goes without "
            "background noise.",
            stacklevel=2,
        )
    return base.Dataset(
        name=f"Speech Commands, {len(words)} words",
        task="kws",
        splits=splits,
        labels=words,
        noises=tuple(noises),
        rates=(SAMPLE_RATE,),
    )


def held_out_paths(folder):
    """The background noises that training does not hear.

    Args:
        folder: The folder of Speech Commands.

    Returns:
        A list of paths.
    """
    return [path for path in _noises(folder) if path.stem in HELD_OUT]


def download(
    folder, version="0.02", url=None, sha256=None, retries=5, progress=True
):
    """Fetches and unpacks Speech Commands, unless it is there already.

    An interrupted download goes on where it stopped when it is called again.

    Args:
        folder: Where the words' folders are to be.
        version: String, `"0.02"` or `"0.01"`. Default: `"0.02"`.
        url: String, another place to fetch the archive from.
            Default: `None`.
        sha256: String, the checksum of the archive at `url`. Default: that
            of the published archive.
        retries: Integer, how often a broken transfer is taken up again.
            Default: 5.
        progress: Boolean, whether to show a progress bar. Default: `True`.

    Returns:
        The folder, as a `pathlib.Path`.
    """
    base.check_choice("version", version, tuple(SHA256))
    folder = pathlib.Path(folder).expanduser()
    if folder.is_dir() and not base.missing_parts(folder, LISTS.values()):
        return folder
    if folder.exists() and any(folder.iterdir()):
        raise DataError(
            "`folder` must be empty or not exist, to download into it. "
            f"Received: folder='{folder}'."
        )
    archive = folder.with_name(f"speech_commands_v{version}.tar.gz")
    downloads.fetch(
        url or URL.format(version=version),
        archive,
        sha256 or SHA256[version],
        retries,
        progress,
    )
    downloads.unpack(archive, folder, progress)
    return folder


def _noises(folder):
    folder = pathlib.Path(folder).expanduser() / NOISE_FOLDER
    return base.audio_files(folder) if folder.is_dir() else []


def _read_list(path, label_of):
    """The `word/stem` of every line about one of the words."""
    names = []
    for line in path.read_text(encoding="utf-8").split():
        word, _, file = line.replace("\\", "/").rpartition("/")
        if not word:
            raise DataError(
                f"{path} must list files as `word/file.wav`. Received: "
                f"{line!r}."
            )
        if word in label_of:
            names.append(f"{word}/{pathlib.PurePath(file).stem}")
    return names


def _check_lists(folder, split_of, found):
    """Recordings that are listed but not there mean an incomplete folder."""
    missing = sorted(set(split_of) - found)
    if not missing:
        return
    message = (
        f"{len(missing)} of {len(split_of)} recordings in the lists of "
        f"{folder} are not there: {base.some(missing)}."
    )
    if len(missing) > 0.01 * len(split_of):
        raise DataError(f"{message} {HOW}")
    warnings.warn(message, stacklevel=3)
