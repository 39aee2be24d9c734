"""The package in an environment with Keras, NumPy and nothing else of ours."""

import os
import shutil
import subprocess
import sys
import venv

import pytest

from tests.cli.test_runtime import check_commands
from tests.conftest import ROOT

pytestmark = pytest.mark.any_backend

IMPORT = """
import sys
import keras_duspar
loaded = {name.split(".")[0] for name in sys.modules}
unwanted = loaded & {"tensorflow", "torch", "matplotlib", "librosa", "scipy"}
assert not unwanted - allowed, unwanted
print(keras_duspar.__version__, keras_duspar.__file__)
"""


def make_environment(folder, *requirements):
    """Python of a new environment in which these are installed."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", *requirements]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode:
        if "ResolutionImpossible" in done.stderr or "No matching" not in (
            done.stderr
        ):
            pytest.fail(done.stderr[-2000:])
        pytest.skip("no package index within reach")
    return python


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """The package and what it requires.

    Keras itself needs a backend: JAX is the smallest.
    """
    return make_environment(tmp_path_factory.mktemp("bare"), ROOT, "jax")


def run(python, code, **environment):
    # Not in the repository, whose sources would be found first.
    return subprocess.run(
        [python, "-c", code],
        env={**os.environ, **environment},
        cwd=python.parent if hasattr(python, "parent") else "/",
        capture_output=True,
        text=True,
    )


def test_import_needs_keras_and_numpy_alone(bare):
    code = "allowed = {'scipy'}\n" + IMPORT  # JAX brings scipy
    done = run(bare, code, KERAS_BACKEND="jax")
    assert done.returncode == 0, done.stderr
    installed = subprocess.run(
        [bare, "-m", "pip", "list", "--format", "freeze"],
        capture_output=True,
        text=True,
    ).stdout
    assert "tensorflow" not in installed and "torch" not in installed


def test_works_in_the_bare_environment(bare):
    code = """
import keras, keras_duspar, numpy as np
model = keras_duspar.models.keyword_spotter("duspar", 8)
audio = np.random.uniform(-1, 1, (1, 8000)).astype("float32")
print(keras_duspar.profile(model, audio))
try:
    keras_duspar.profile(model, audio).plot()
except ImportError as e:
    assert "keras-duspar[plot]" in str(e)
else:
    raise AssertionError("plot() must ask for matplotlib")
"""
    done = run(bare, code, KERAS_BACKEND="jax")
    assert done.returncode == 0, done.stderr
    assert "recurrent_1" in done.stdout


def test_native_library_is_inside(bare):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    code = """
import pathlib, keras_duspar
from keras_duspar import native
package = pathlib.Path(keras_duspar.__file__).parent
assert pathlib.Path(native.library_path()).parent == package / "native"
assert native.load().duspar_version().decode() == keras_duspar.__version__
assert "reference" in native.kernels()
"""
    done = run(bare, code, KERAS_BACKEND="jax")
    assert done.returncode == 0, done.stderr


def test_installs_without_a_compiler(bare, tmp_path):
    """In pure Python; the library's absence is told when it is needed."""
    pip = [bare, "-m", "pip", "install", "--quiet", "--no-deps"]
    done = subprocess.run(
        [*pip, "--target", tmp_path, ROOT],
        env={**os.environ, "CC": str(tmp_path / "no_compiler")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    code = f"""
import keras_duspar
assert keras_duspar.__file__.startswith({str(tmp_path)!r})
try:
    keras_duspar.native.load()
except FileNotFoundError as e:
    assert "make native" in str(e) and "C compiler" in str(e)
else:
    raise AssertionError("there must be no library")
"""
    done = run(bare, code, KERAS_BACKEND="jax", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_import_does_not_load_tensorflow(backend):
    """Nothing beyond what Keras itself loads."""
    code = """
import sys
import keras
before = set(sys.modules)
import keras_duspar
new = {name.split(".")[0] for name in set(sys.modules) - before}
assert "tensorflow" not in new and "matplotlib" not in new, new
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_running_files_needs_no_backend(tmp_path):
    """In an environment that has none, where Keras cannot be imported."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    python = make_environment(tmp_path / "runtime", f"{ROOT}[runtime]")
    assert run(python, "import keras").returncode != 0
    check_commands(python, tmp_path)
    done = run(python, "import keras_duspar; keras_duspar.DuSpaR")
    assert "pip install tensorflow" in done.stderr.splitlines()[-1]
