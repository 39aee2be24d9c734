"""Speech enhancement data from any clean speech and any noise.

The folder is laid out as

    clean/train/  clean/val/  clean/test/
    noise/train/  noise/test/
    mix_val.csv   mix_test.csv

with audio files of any rate. Training mixes on the fly. The two lists fix the
mixtures of validation and test: their columns are `id`, `clean`, `noise`,
`noise_offset_samples` (at 16 kHz) and `snr_db`.
"""

import pathlib

import numpy as np

from datasets import base
from datasets.audio_io import read_audio
from datasets.base import DataError
from datasets.base import Mixture
from keras_duspar.utils.audio_files import AudioFileError

SNRS_DB = (0.0, 5.0, 10.0, 15.0, 20.0)
COLUMNS = ("id", "clean", "noise", "noise_offset_samples", "snr_db")
HOW = (
    "Mixing needs clean/train, noise/train, mix_val.csv and mix_test.csv "
    "there; see recipes/datasets/README.md. Folders of another layout go "
    "through `mixing.from_folders()`."
)


def mix(clean, noise, snr_db, offset=0):
    """Adds noise to speech.

    Noise that is too short is repeated. Where the sum would exceed full
    scale, both results are turned down alike.

    Args:
        clean: Float array, with shape `(samples,)`.
        noise: Float array, with shape `(noise_samples,)`.
        snr_db: Float, ratio of the powers over the whole length.
        offset: Integer, the first sample of the noise that is used.
            Default: 0.

    Returns:
        Noisy and clean audio, float32, as long as `clean`.
    """
    clean = np.asarray(clean, "float32")
    noise = excerpt(np.asarray(noise, "float32"), offset, len(clean))
    speech_power = float(np.vdot(clean, clean))
    noise_power = float(np.vdot(noise, noise))
    if speech_power == 0 or noise_power == 0:
        return clean.copy(), clean
    gain = np.sqrt(speech_power / noise_power * 10 ** (-snr_db / 10))
    noisy = clean + np.float32(gain) * noise
    peak = max(noisy.max(), -noisy.min())
    if peak > 1:
        return noisy / peak, clean / peak
    return noisy, clean


def excerpt(noise, offset, length):
    """`length` samples of `noise` from `offset` on, repeated as needed."""
    offset %= len(noise)
    if offset + length > len(noise):
        # Tiles would be copies of the whole of it.
        return noise.take(np.arange(offset, offset + length), mode="wrap")
    return noise[offset : offset + length]


def read_noises(paths):
    """Reads recordings of noise at once.

    Args:
        paths: Sequence of `pathlib.Path`.

    Returns:
        A dictionary from the names of the files, without their endings, to
        float32 arrays.
    """
    return {path.stem: read_recording(path) for path in paths}


def read_recording(path):
    """The samples of a file that must not be bad, as float32."""
    try:
        return read_audio(path)
    except AudioFileError as e:
        raise DataError(f"The recording {path} {e.reason}.") from e


def load(folder, snrs_db=SNRS_DB):
    """Reads a folder of the layout above.

    Args:
        folder: The folder.
        snrs_db: Sequence of floats, the ratios that training mixes at.
            Default: 0, 5, 10, 15 and 20 dB.

    Returns:
        A `Dataset` for `"se"`.
    """
    folder = base.existing_folder(
        folder,
        "speech and noise to mix",
        HOW,
        ["clean/train", "noise/train", "mix_val.csv", "mix_test.csv"],
    )
    return base.Dataset(
        name=f"mixtures of {folder.name}",
        task="se",
        splits={
            "train": on_the_fly(folder / "clean/train"),
            "validation": read_mixtures(folder / "mix_val.csv"),
            "test": read_mixtures(folder / "mix_test.csv"),
        },
        noises=tuple(_files(folder / "noise/train", "noise")),
        snrs_db=_checked_snrs(snrs_db),
    )


def from_folders(
    clean, noise, snrs_db=SNRS_DB, validation=0.1, test=0.1, seed=0
):
    """Mixes any folder of speech with any folder of noise.

    Folders with speech of one speaker each stay together, as do files whose
    names share what comes before the first `_` or `-`: no speaker is in two
    splits. Test noises are not heard in training.

    Args:
        clean: Folder of clean speech, at any depth.
        noise: Folder of noise, at any depth.
        snrs_db: Sequence of floats, the ratios to mix at.
        validation: Float, share of the speakers for validation.
            Default: 0.1.
        test: Float, share of the speakers and noises for test. Default: 0.1.
        seed: Integer, seed of the split and of the fixed mixtures.
            Default: 0.

    Returns:
        A `Dataset` for `"se"`.
    """
    clean = base.existing_folder(clean, "clean speech", "Check the path.")
    noise = base.existing_folder(noise, "noise", "Check the path.")
    snrs_db = _checked_snrs(snrs_db)
    rng = np.random.default_rng(seed)
    speakers = {}
    for path in _files(clean, "clean speech"):
        speakers.setdefault(_speaker(path, clean), []).append(path)
    if len(speakers) < 3:
        raise DataError(
            "`clean` must hold at least 3 speakers, one per split: folders, or "
            "names that begin with the speaker and `_` or `-`. Received: "
            f"{len(speakers)} in '{clean}'."
        )
    noises = rng.permutation(_files(noise, "noise")).tolist()
    if len(noises) < 2:
        raise DataError(
            "`noise` must hold at least 2 files, one for training and one "
            f"for test. Received: 1 in '{noise}'."
        )
    names = rng.permutation(sorted(speakers)).tolist()
    held = max(round(validation * len(names)), 1)
    tested = max(round(test * len(names)), 1)
    groups = {
        "validation": names[:held],
        "test": names[held : held + tested],
        "train": names[held + tested :],
    }
    kept = max(round(test * len(noises)), 1)
    test_noises, train_noises = noises[:kept], noises[kept:]
    splits = {}
    for split, group in groups.items():
        pool = test_noises if split == "test" else train_noises
        splits[split] = [
            Mixture(path.stem, path, speaker=name)
            if split == "train"
            else Mixture(
                path.stem,
                path,
                pool[rng.integers(len(pool))],
                # Taken modulo the noise's length.
                int(rng.integers(2**31)),
                snrs_db[rng.integers(len(snrs_db))],
                name,
            )
            for name in group
            for path in speakers[name]
        ]
    return base.Dataset(
        name=f"{clean.name} with {noise.name}",
        task="se",
        splits=splits,
        noises=tuple(train_noises),
        snrs_db=snrs_db,
    )


def on_the_fly(folder):
    """Every file below `folder`, to be mixed with noise when it is used."""
    return [
        Mixture(path.stem, path, speaker=_speaker(path, folder))
        for path in _files(folder, "clean speech")
    ]


def read_mixtures(path):
    """The fixed mixtures of a CSV file; its paths are relative to it."""
    path = pathlib.Path(path)
    mixtures = []
    for place, row in base.read_table(path, COLUMNS):
        if not (row["clean"] and row["noise"]):
            raise DataError(f"{place}: `clean` and `noise` must be files.")
        clean, noise = (path.parent / row[name] for name in ("clean", "noise"))
        for file in (clean, noise):
            if not file.is_file():
                raise DataError(f"{place}: there is no file {file}.")
        try:
            offset = int(row["noise_offset_samples"])
            snr_db = float(row["snr_db"])
        except (TypeError, ValueError) as e:
            raise DataError(
                f"{place}: `noise_offset_samples` must be an integer and "
                "`snr_db` a number. Received: "
                f"{row['noise_offset_samples']!r}, {row['snr_db']!r}."
            ) from e
        mixtures.append(Mixture(row["id"], clean, noise, offset, snr_db))
    return mixtures


def _files(folder, what):
    files = base.audio_files(folder)
    if not files:
        raise DataError(
            f"There is no {what} (.wav, .flac or .ogg) below {folder}."
        )
    return files


def _speaker(path, folder):
    if path.parent != folder:
        return str(path.parent.relative_to(folder))
    return path.stem.replace("-", "_").split("_")[0]


def _checked_snrs(snrs_db):
    snrs_db = tuple(float(snr) for snr in snrs_db)
    if not snrs_db or not np.isfinite(snrs_db).all():
        raise DataError(
            "`snrs_db` must be numbers, at least one. Received: "
            f"snrs_db={snrs_db}."
        )
    return snrs_db
