"""Hostile `.keras` files and checkpoints, by every door that loads them."""

import contextlib
import io
import json
import stat
import zipfile

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar import tflite
from keras_duspar.cli import main
from keras_duspar.models import preset_files
from keras_duspar.utils import archives
from tests.conftest import ROOT

pytestmark = pytest.mark.any_backend


def make_model(*layers):
    return keras.Sequential([keras.Input((None, 3)), *layers])


@pytest.fixture
def good(tmp_path):
    """A file that everything can load."""
    path = tmp_path / "model.keras"
    make_model(keras_duspar.DuSpaR(2), keras.layers.Dense(2)).save(path)
    return path


def rewrite(path, changes, **options):
    """Changes entries of an archive, by name or `ZipInfo`, and adds some."""
    with zipfile.ZipFile(path) as archive:
        known = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, data in (known | changes).items():
            archive.writestr(name, data)


def bomb(path):
    """Adds what unpacks to 300 MB."""
    zeros = bytes(300 << 20)
    rewrite(path, {"x.bin": zeros}, compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 1 << 20
    return path


def test_archives_that_unpack_to_more_than_a_model(
    good, tmp_path, capsys, monkeypatch
):
    path = bomb(good)

    def untouched(*_, **__):
        raise AssertionError("it was read")

    monkeypatch.setattr(keras.saving, "load_model", untouched)
    monkeypatch.setattr(keras.models, "load_model", untouched)
    message = r"says that it unpacks to 31\d MB, which no model does"
    for door in (
        lambda: tflite.convert(path, tmp_path / "a.tflite"),
        lambda: keras_duspar.export_c(path, tmp_path / "c"),
        lambda: keras_duspar.export_web(path, tmp_path / "page"),
        lambda: archives.load_model(path),
    ):
        with pytest.raises(ValueError, match=message):
            door()
    for command in (
        ("spot", tmp_path / "a.wav", "--model", path),
        ("convert", path, tmp_path / "a.tflite"),
        ("export-c", path, tmp_path / "c"),
        ("export-web", path, tmp_path / "page"),
    ):
        assert main(list(map(str, command))) == 2
        assert "which no model does" in capsys.readouterr().err
    monkeypatch.syspath_prepend(ROOT / "recipes")
    from trainer import starting
    from trainer.errors import TrainingError

    with pytest.raises(TrainingError, match="which no model does"):
        starting.load_model(path, "start")
    folder = tmp_path / "presets" / "mine"
    folder.mkdir(parents=True)
    (folder / preset_files.CARD).write_text("{}")
    path.rename(folder / preset_files.KERAS)
    monkeypatch.setattr(preset_files, "FOLDER", folder.parent)
    with pytest.raises(ValueError, match="which no model does"):
        keras_duspar.models.from_preset("mine")
    assert not (tmp_path / "c").exists()


def test_sizes_that_are_not_true(good):
    """More than is declared is not read: the check of sums fails."""
    data = bytes(5 << 20)
    rewrite(good, {"model.weights.h5": data}, compression=zipfile.ZIP_DEFLATED)
    content = good.read_bytes()
    size = len(data).to_bytes(4, "little")
    assert content.count(size) == 2
    good.write_bytes(content.replace(size, (1000).to_bytes(4, "little")))
    with pytest.raises(Exception, match="CRC|truncated|signature|File"):
        archives.load_model(good)


def test_models_of_zeros_are_no_bombs(tmp_path):
    path = tmp_path / "zeros.keras"
    model = make_model(keras.layers.Dense(3000, kernel_initializer="zeros"))
    model.save(path)
    rewrite(path, {}, compression=zipfile.ZIP_DEFLATED)
    assert len(archives.load_model(path).weights) == 2


def test_paths_that_leave_the_folder(good, tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    link = zipfile.ZipInfo("assets/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    outside = tmp_path / "absolute"
    rewrite(
        good,
        {
            "../../evil": b"x",
            "assets/../../../evil": b"x",
            str(outside): b"x",
            link: b"/etc/passwd",
        },
    )
    good.rename(inner / "model.keras")
    before = sorted(tmp_path.rglob("*"))
    # Some versions of Keras refuse it.
    with contextlib.suppress(ValueError):
        archives.load_model(inner / "model.keras")
    assert sorted(tmp_path.rglob("*")) == before
    assert not outside.exists()


def test_code_is_not_run(good, tmp_path, capsys):
    path = tmp_path / "lambda.keras"
    marker = tmp_path / "marker"
    layer = keras.layers.Lambda(lambda x: x + 1)
    make_model(layer).save(path)
    with pytest.raises(Exception, match="[Ll]ambda"):
        archives.load_model(path)
    # Names of functions that are no layers.
    with zipfile.ZipFile(good) as archive:
        config = json.loads(archive.read("config.json"))
    config["config"]["layers"].append(
        {
            "module": "os",
            "class_name": "system",
            "config": {"command": f"touch {marker}"},
            "registered_name": None,
        }
    )
    rewrite(good, {"config.json": json.dumps(config)})
    assert main(["convert", str(good), str(tmp_path / "a.tflite")]) == 2
    error = capsys.readouterr().err
    assert "can be loaded" in error and error.count("\n") == 1
    assert not marker.exists()


class Evil:
    """Unpickling it writes a file."""

    path = None

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_pickles_in_checkpoints(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "recipes")
    from trainer import checkpoint
    from trainer.errors import TrainingError

    Evil.path = str(tmp_path / "written")
    file = io.BytesIO()
    np.savez(file, progress=np.array([Evil()], dtype=object))
    (tmp_path / checkpoint.FILE).write_bytes(file.getvalue())
    with pytest.raises(TrainingError, match="is no checkpoint of a run"):
        checkpoint.read(tmp_path)
    assert not (tmp_path / "written").exists()
