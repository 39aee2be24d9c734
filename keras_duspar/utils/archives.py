"""Loading `.keras` files, which are archives that somebody may have made."""

import zipfile

# What an archive may unpack to: weights hardly shrink.
_ALLOWED = 64 << 20  # bytes, whatever its size
_EXPANSION = 20  # times its size


def check_archive(path):
    """Raises unless the sizes that a `.keras` file declares are believable.

    Args:
        path: `pathlib.Path` of the file. One that is no archive is left to
            Keras.
    """
    size = path.stat().st_size
    try:
        with zipfile.ZipFile(path) as archive:
            declared = sum(entry.file_size for entry in archive.infolist())
    except zipfile.BadZipFile:
        return
    if declared > max(_ALLOWED, _EXPANSION * size):
        raise ValueError(
            f"{path} has {size / 1e6:.3g} MB and says that it unpacks to "
            f"{declared / 1e6:.3g} MB, which no model does: it was not read."
        )


def load_model(path):
    """Loads a `.keras` file, not compiled, if it can be one.

    Args:
        path: `pathlib.Path` of the file.

    Returns:
        The `keras.Model`.
    """
    import keras  # noqa: PLC0415

    check_archive(path)
    return keras.saving.load_model(path, compile=False)
