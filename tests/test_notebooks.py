"""The notebooks run, and show what they give."""

import nbformat
import pytest

from tests import notebooks

pytestmark = pytest.mark.any_backend


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook(path, tmp_path):
    """Its code ends with what its own assertions ask for.

    Numbers differ from one machine to the next, but not the kinds of outputs.
    """
    kept = nbformat.read(path, as_version=4)
    found = notebooks.run(path, tmp_path)
    for old, new in zip(kept.cells, found.cells, strict=True):
        kinds = [
            [output.output_type for output in cell.get("outputs", [])]
            for cell in (old, new)
        ]
        assert kinds[0] == kinds[1], "run `make notebooks`"
