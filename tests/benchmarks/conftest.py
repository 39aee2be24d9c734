"""The benchmark's modules, which are no package of their own."""

import shutil
import sys

import keras
import pytest

from keras_duspar import native
from tests.conftest import ROOT


def pytest_runtest_setup():
    if keras.backend.backend() != "tensorflow":
        pytest.skip("converts in this process: runs on TensorFlow")
    try:
        native.library_path()
    except FileNotFoundError:
        pytest.skip("the native library is not built: make native")


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
