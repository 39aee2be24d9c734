"""VoiceBank+DEMAND: read speech with real noise, in pairs.

The folder holds `clean_trainset_28spk_wav`, `noisy_trainset_28spk_wav`,
`clean_testset_wav` and `noisy_testset_wav`, at 48 kHz as published or at
16 kHz. A recording and its clean version share a name, `<speaker>_<n>.wav`.
"""

from datasets import base
from datasets.base import DataError
from datasets.base import Pair

FOLDERS = {
    "train": ("noisy_trainset_28spk_wav", "clean_trainset_28spk_wav"),
    "test": ("noisy_testset_wav", "clean_testset_wav"),
}
# Two of the 28 speakers; no number in the literature fixes which.
VALIDATION_SPEAKERS = ("p226", "p287")
HOW = (
    "Download and unpack the four archives of the 28-speaker version from "
    "https://datashare.ed.ac.uk/handle/10283/2791 into one folder."
)


def load(folder, validation_speakers=VALIDATION_SPEAKERS):
    """Reads a folder of VoiceBank+DEMAND.

    Args:
        folder: The folder that holds the four folders.
        validation_speakers: Sequence of strings, the speakers of the training
            set that are kept for validation. Default: `("p226", "p287")`.

    Returns:
        A `Dataset` for `"se"`.
    """
    names = [name for pair in FOLDERS.values() for name in pair]
    folder = base.existing_folder(folder, "VoiceBank+DEMAND", HOW, names)
    pairs = {
        split: _pairs(folder / noisy, folder / clean)
        for split, (noisy, clean) in FOLDERS.items()
    }
    speakers = {pair.speaker for pair in pairs["train"]}
    held = set(validation_speakers)
    if not held or not held < speakers:
        raise DataError(
            "`validation_speakers` must be some, not all, of the training "
            f"set's speakers: {base.some(sorted(speakers), 40)}. Received: "
            f"validation_speakers={tuple(validation_speakers)}."
        )
    return base.Dataset(
        name="VoiceBank+DEMAND",
        task="se",
        splits={
            "train": [p for p in pairs["train"] if p.speaker not in held],
            "validation": [p for p in pairs["train"] if p.speaker in held],
            "test": pairs["test"],
        },
        rates=(16000, 48000),
    )


def _pairs(noisy_folder, clean_folder):
    noisy = {path.stem: path for path in base.audio_files(noisy_folder)}
    clean = {path.stem: path for path in base.audio_files(clean_folder)}
    for one, other, here, there in (
        (noisy, clean, noisy_folder, clean_folder),
        (clean, noisy, clean_folder, noisy_folder),
    ):
        lone = sorted(set(one) - set(other))
        if lone:
            raise DataError(
                f"{len(lone)} of {len(one)} files in {here} have no "
                f"counterpart in {there}: {base.some(lone)}. {HOW}"
            )
    return [
        Pair(name, noisy[name], clean[name], name.split("_")[0])
        for name in sorted(noisy)
    ]
