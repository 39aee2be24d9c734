"""Exported models on emulated boards with a Cortex-M."""

import re

import pytest

from tests.micro.boards import BOARD
from tests.micro.boards import BOARDS
from tests.micro.boards import run_on_board
from tests.micro.compiled import export
from tests.micro.compiled import make_model
from tests.tflite.conftest import make_audio

pytestmark = pytest.mark.any_backend


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Folders of models by task and weights."""
    found = {}
    for name, weights in (
        *(("kws", "float32"), ("kws", "bfloat16"), ("kws", "int8")),
        ("se", "int8"),
    ):
        folder = tmp_path_factory.mktemp(f"{name}-{weights}")
        options = {"weights": weights}
        if weights == "int8":
            options["representative"] = make_audio(4096)
        export(make_model(name, 20), folder, **options)
        found[name, weights] = folder
    return found


@pytest.mark.parametrize("board", BOARDS)
def test_self_test_passes(folders, board):
    for folder in folders.values():
        source = folder / "model_test.c"
        assert "passed" in run_on_board(folder, "model", board, source)


@pytest.mark.parametrize("board", BOARDS)
def test_instructions_are_counted(folders, board):
    """Counts do not depend on the machine; those of the docs are made so."""
    counts = {}
    for key, folder in folders.items():
        source = BOARD / "count.c"
        printed = run_on_board(folder, "model", board, source)
        counts[key] = int(re.search(r"instructions (\d+)", printed)[1])
        occupancy = float(re.search(r"occupancy (\S+)", printed)[1])
        assert 0.2 < occupancy < 0.8
    assert 20_000 < counts["kws", "int8"] < 90_000
    assert counts["se", "int8"] < counts["kws", "int8"]
