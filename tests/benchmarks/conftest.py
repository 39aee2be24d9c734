"""The benchmark's modules, which are no package of their own."""

import shutil
import sys

import pytest

from tests.conftest import ROOT
from tests.helpers import skip_unless_deployable


def pytest_runtest_setup():
    skip_unless_deployable()


@pytest.fixture(autouse=True)
def _modules(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


@pytest.fixture(scope="session")
def dense_library():
    """The library of dense GRUs, built."""
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        pytest.skip("needs a C compiler")
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import kernels

        (path,) = kernels.build("bench_grus").glob("libbench_grus.*")
    finally:
        sys.path.pop(0)
    return path
