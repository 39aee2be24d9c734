"""The table of sparse operators, against the cells and the C library."""

import subprocess
import sys

import pytest

import keras_duspar
from keras_duspar import operators
from keras_duspar.native import sparse_ops
from tests.conftest import ROOT

pytestmark = pytest.mark.any_backend
SCRIPT = ROOT / "keras_duspar" / "operators.py"
HEADERS = ("src/layer/operators_table.h", "include/duspar/weights.h")


def test_the_headers_are_up_to_date(tmp_path):
    """`python keras_duspar/operators.py tflite` writes them again."""
    for path in HEADERS:
        (tmp_path / path).parent.mkdir(parents=True)
    # Alone: without the package and without any other.
    subprocess.run([sys.executable, "-I", "-S", SCRIPT, tmp_path], check=True)
    for path in HEADERS:
        found = (tmp_path / path).read_text()
        assert found == (ROOT / "tflite" / path).read_text()


@pytest.mark.parametrize(
    "cell_class, name",
    [(keras_duspar.SpaRCell, "SpaR"), (keras_duspar.DuSpaRCell, "DuSpaR")],
)
def test_the_table_is_like_the_cells(cell_class, name):
    features, units = 5, 3
    operator = operators.BY_NAME[name]
    cell = cell_class(units)
    cell.build((None, features))
    op = sparse_ops.sparse_op_of(cell)
    found = op.kernels + op.biases
    assert op.name == name
    assert {v.path for v in found} == {v.path for v in cell.weights}
    assert len(found) == len(cell.weights)
    for weight, variable in zip(operator.weights, found):
        assert variable.path.endswith(weight.name)
        assert variable.shape == operators.sizes(weight.shape, features, units)
    assert tuple(s.name for s in operator.states) == cell.state_names
    widths = operators.sizes(
        (s.width for s in operator.states), features, units
    )
    assert list(widths) == [cell.state_width(n) for n in cell.state_names]
    for operand, cost in zip(
        operator.operands, cell.cost().operands, strict=True
    ):
        size, outputs = operators.sizes(
            (operand.size, operand.outputs), features, units
        )
        assert (operand.name, size, 2 * outputs) == (
            cost.name,
            cost.size,
            cost.fan,
        )
    assert (
        len(operator.operands) == len(cell.cost().operands) == len(op.operands)
    )
