"""Files are there whole or not at all."""

import os

import pytest

from keras_duspar.utils import files

pytestmark = pytest.mark.any_backend


@pytest.mark.parametrize("data", ["words äöü", b"\x00bytes"])
def test_write(tmp_path, data):
    path = tmp_path / "a.txt"
    for _ in range(2):  # new, and in place of another
        files.write(path, data)
    content = data if isinstance(data, bytes) else data.encode()
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_replacing_keeps_the_old_file_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "model.keras"
    path.write_text("old")
    with (
        pytest.raises(ZeroDivisionError),
        files.replacing(path) as part,
    ):
        assert part.parent == tmp_path and part.suffix == ".keras"
        part.write_text("half")
        assert path.read_text() == "old"
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with files.replacing(path) as part:
        part.write_text("new")
    assert path.read_text() == "new"
