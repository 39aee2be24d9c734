"""Puts `recipes/` on the path, as `python recipes/kws.py` does."""

import sys

import numpy as np
import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "recipes"))


@pytest.fixture
def write_tone():
    """A function that writes a second of tone, and makes its folder."""
    import soundfile

    def write(path, rate=16000, seconds=1.0, hz=440, level=0.3, **options):
        path.parent.mkdir(parents=True, exist_ok=True)
        time = np.arange(int(seconds * rate)) / rate
        tone = level * np.sin(2 * np.pi * hz * time)
        soundfile.write(path, tone, rate, **options)
        return path

    return write


@pytest.fixture
def kws(tmp_path):
    """The folder of a made-up run of keyword spotting."""
    from tests.recipes import fake_run

    return fake_run.make_run(tmp_path / "kws")


@pytest.fixture
def se(tmp_path):
    """The folder of a made-up run of enhancement."""
    from tests.recipes import fake_run

    return fake_run.make_run(tmp_path / "se", "se", epochs=3)
