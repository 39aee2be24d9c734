"""A disk that is full: what was there stays, and the message says it.

A limit to the size of files stands for it.
"""

import contextlib
import pathlib
import resource

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar import tflite
from keras_duspar.cli import main
from keras_duspar.utils import audio_files
from keras_duspar.utils import files
from tests.helpers import skip_unless_deployable

pytestmark = pytest.mark.any_backend


@contextlib.contextmanager
def room(size):
    """No file can become longer than so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def make_model():
    inputs = keras.Input((None, 9))
    x = keras_duspar.DuSpaR(64, return_sequences=True)(inputs)
    return keras.Model(inputs, keras.layers.Dense(2)(x))


def contents(folder):
    return {p.name: p.read_bytes() for p in pathlib.Path(folder).iterdir()}


def test_files_of_one_export_stay_together(tmp_path):
    model = make_model()
    keras_duspar.export_c(model, tmp_path, name="m", report=None)
    before = contents(tmp_path)
    assert len(before) == 3 and len(before["m.h"]) < 6000
    keras_duspar.export_c(model, tmp_path, name="m", report=None)
    assert contents(tmp_path) == before
    model.layers[1].cell.feedforward.gate_bias.assign(np.ones(64))
    with (
        room(len(before["m.c"]) // 2),
        pytest.raises(OSError, match=r"File too large: '.*/m\.c'"),
    ):
        keras_duspar.export_c(model, tmp_path, name="m", report=None)
    assert contents(tmp_path) == before


def test_page(tmp_path, capsys):
    model = keras_duspar.models.keyword_spotter("duspar", 32)
    file, page = tmp_path / "m.keras", tmp_path / "page"
    model.save(file)
    assert main(["export-web", str(file), str(page)]) == 0
    before = contents(page)
    capsys.readouterr()
    with room(len(before["model.bin"]) - 100):
        assert main(["export-web", str(file), str(page)]) == 2
    error = capsys.readouterr().err
    assert "File too large" in error and "model.bin" in error
    assert contents(page) == before


def test_converting(tmp_path, capsys):
    skip_unless_deployable()
    path, model = tmp_path / "m.tflite", make_model()
    tflite.convert(model, path, report=None)
    before = contents(tmp_path)
    whole = pathlib.Path.write_bytes

    def write(part, data):
        # TensorFlow's own files, which lie elsewhere, are not limited.
        with room(2000):
            return whole(part, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pathlib.Path, "write_bytes", write)
        with pytest.raises(OSError, match=r"File too large: '.*/m\.tflite'"):
            tflite.convert(model, path, report=None)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("suffix", ["wav", "flac", "ogg"])
def test_recordings(tmp_path, suffix, rng):
    """Also those whose last bytes are written when they are closed."""
    path = tmp_path / f"a.{suffix}"
    audio = rng.normal(0, 0.1, (1, 40000)).astype("float32")

    def write():
        with audio_files.writing(path, 16000, 1) as add:
            for i in range(0, 40000, 8000):
                add(audio[:, i : i + 8000])

    write()
    size = path.stat().st_size
    for limit in (size // 2, size - 60, size - 1):
        path.write_bytes(b"old")
        with (
            room(limit),
            pytest.raises(
                audio_files.AudioFileError,
                match=rf"a\.{suffix} cannot be written: File too large",
            ),
        ):
            write()
        assert contents(tmp_path) == {path.name: b"old"}


def test_enhancing(tmp_path, capsys, rng):
    noisy, clean = tmp_path / "noisy.wav", tmp_path / "clean.wav"
    audio = rng.normal(0, 0.1, (1, 16000)).astype("float32")
    for path in (noisy, clean):
        with audio_files.writing(path, 16000, 1) as write:
            write(audio)
    before = contents(tmp_path)
    with room(20000):
        command = ["enhance", str(noisy), str(clean), "--overwrite"]
        assert main(command) == 2
    error = capsys.readouterr().err
    assert "clean.wav cannot be written: File too large" in error
    assert error.count("\n") == 1
    assert contents(tmp_path) == before


def test_links_and_devices(tmp_path):
    """A link stays one; a device stays a device."""
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "file", tmp_path / "link"
    for _ in range(2):  # at first the link leads to nothing
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        files.write(link, "words")
        assert link.is_symlink() and target.read_text() == "words"
    assert files.check_writable(link) == link
    (tmp_path / "null").symlink_to("/dev/null")
    for path in (tmp_path / "null", pathlib.Path("/dev/null")):
        with pytest.raises(OSError, match="is no file that can be replaced"):
            files.write(path, "words")
        with pytest.raises(ValueError, match="must be the name of a file"):
            files.check_writable(path)
    assert pathlib.Path("/dev/null").is_char_device()
