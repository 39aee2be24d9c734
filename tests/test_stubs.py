"""What editors and type checkers see is what there is."""

import inspect
import subprocess
import sys

import pytest

import keras_duspar
from tests import stubs
from tests.conftest import ROOT

pytestmark = pytest.mark.any_backend

RIGHT = """
import keras_duspar
from keras_duspar import DuSpaR, models, tflite

layer = DuSpaR(units=4, dropout=0.1, return_sequences=True, name="first")
cell = keras_duspar.layers.SpaR(8, dtype="float32").cell
model = models.keyword_spotter("duspar", units=8, samples=None)
tflite.convert(model, "m.tflite", streaming=True, labels=("yes", "no"))
rate: int | None = tflite.load("m.tflite").sample_rate
macs = keras_duspar.profile(model, None, steps_per_second=62.5).effective_macs
"""
WRONG = {
    "DuSpaR(unit=4)": "unit",
    "DuSpaR(4, droput=0.1)": "droput",
    'DuSpaR("4")': 'expected "int"',
    'DuSpaR(4, dropout="0.1")': 'expected "float"',
    "keras_duspar.DuSpaRCell(4, nmae=None)": "nmae",
    "models.keyword_spotter(unit=8)": "unit",
    'tflite.convert(model, "m.tflite", stream=True)': "stream",
    "keras_duspar.DuSpa(4)": "DuSpa",
}


@pytest.mark.parametrize("folder", stubs.PACKAGES, ids=lambda path: path.name)
def test_stubs_are_up_to_date(folder):
    """`python -m tests.stubs` writes them."""
    assert (folder / "__init__.pyi").read_text() == stubs.make(folder)


def test_units_are_integers():
    stub = (ROOT / "keras_duspar/layers/__init__.pyi").read_text()
    line = stub.partition("class DuSpaR(")[2].splitlines()[1]
    for name in inspect.signature(keras_duspar.DuSpaR).parameters:
        assert name == "kwargs" or f" {name}: " in line
    assert "self, units: int," in line and "dropout: float = 0.0" in line


def test_type_checker(tmp_path):
    """It accepts right arguments and finds wrong ones."""
    pytest.importorskip("mypy")
    lines = [*RIGHT.splitlines(), *WRONG]
    (tmp_path / "sample.py").write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", tmp_path / "sample.py"),
            *("--config-file", ROOT / "pyproject.toml"),
            *("--cache-dir", tmp_path / "cache"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    errors = {}
    for line in done.stdout.splitlines():
        if ": error: " in line:
            place, _, message = line.partition(": error: ")
            errors[lines[int(place.rsplit(":", 1)[1]) - 1]] = message
    assert set(errors) == set(WRONG), done.stdout
    for code, word in WRONG.items():
        assert word in errors[code]
