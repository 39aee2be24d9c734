"""Fluent Speech Commands: spoken commands for a home, 31 intents.

The folder is that of the published archive: `data/train_data.csv`,
`data/valid_data.csv` and `data/test_data.csv` with the columns `path`,
`speakerId`, `transcription`, `action`, `object` and `location`, and the
recordings in `wavs/`. An intent is what the last three columns say. Other data
in this layout works as well, with intents of its own.
"""

import warnings

from datasets import base
from datasets.base import Clip
from datasets.base import DataError
from keras_duspar.utils.audio_files import SAMPLE_RATE

FILES = {
    "train": "data/train_data.csv",
    "validation": "data/valid_data.csv",
    "test": "data/test_data.csv",
}
SLOTS = ("action", "object", "location")
HOW = (
    "Fluent Speech Commands is free for research but has to be asked for: "
    "Fluent.ai hands out the link after a form, at "
    "https://fluent.ai/fluent-speech-commands-a-dataset-for-spoken-language-"
    "understanding-research/ . Unpack the archive and pass the folder that "
    "holds `data/` and `wavs/`. Of a folder of Speech Commands, which is free "
    "for all, slu.py composes commands."
)


def load(folder):
    """Reads a folder of Fluent Speech Commands.

    Args:
        folder: The folder that holds `data/` and `wavs/`.

    Returns:
        A `Dataset` for `"slu"`. A label is a tuple of one index into
        `labels`, which are sorted and read `"action / object / location"`.
    """
    folder = base.existing_folder(
        folder, "Fluent Speech Commands", HOW, FILES.values()
    )
    rows = {split: _read(folder / name) for split, name in FILES.items()}
    labels = tuple(sorted({row[1] for part in rows.values() for row in part}))
    known = {row[1] for row in rows["train"]}
    unknown = [label for label in labels if label not in known]
    if unknown:
        warnings.warn(
            f"{len(unknown)} intents have no training example in {folder}: "
            f"{base.some(unknown)}.",
            stacklevel=2,
        )
    label_of = {label: i for i, label in enumerate(labels)}
    splits = {
        split: [
            Clip(folder / path, (label_of[label],), speaker)
            for path, label, speaker in part
        ]
        for split, part in rows.items()
    }
    return base.Dataset(
        name=f"{folder.name}, {len(labels)} intents",
        task="slu",
        splits=splits,
        labels=labels,
        rates=(SAMPLE_RATE,),
    )


def _read(path):
    """The `(path, label, speaker)` of every row of a CSV file."""
    found = []
    columns = ("path", *SLOTS)
    for place, row in base.read_table(path, columns):
        if not all(row[name] for name in columns):
            raise DataError(
                f"{place}: {', '.join(columns)} must not be empty. Received: "
                f"{row}."
            )
        label = " / ".join(row[slot].strip() for slot in SLOTS)
        found.append((row["path"], label, row.get("speakerId") or ""))
    return found
