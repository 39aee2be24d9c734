"""The package imports Keras late, and Keras still knows our classes."""

import ast
import os
import subprocess
import sys

import keras
import pytest

import keras_duspar
from keras_duspar import registration  # noqa: F401
from tests.conftest import ROOT

pytestmark = pytest.mark.any_backend

KEPT = ROOT / "tests" / "kept" / "0.1.0"
FILES = sorted(KEPT.glob("*.keras"))


def python(code, *arguments, backend="jax"):
    """Runs code in a process of its own and returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "KERAS_BACKEND": backend},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def serializable():
    """Name and module of all classes that our sources register."""
    found = {}
    for path in (ROOT / "keras_duspar").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text())):
            for decorator in getattr(node, "decorator_list", []):
                if "register_keras_serializable" in ast.unparse(decorator):
                    found[node.name] = module
    return found


def test_every_serializable_class_is_registered():
    code = """
import keras, keras_duspar
for name, value in keras.saving.get_custom_objects().items():
    print(name, value.__module__)
"""
    lines = dict(line.split() for line in python(code).splitlines())
    expected = {f"keras_duspar>{n}": m for n, m in serializable().items()}
    assert len(expected) > 25
    assert lines == expected


@pytest.mark.parametrize(
    "imports", ["import keras, keras_duspar", "import keras_duspar, keras"]
)
def test_models_load_whatever_is_imported_first(imports):
    """Without `custom_objects`."""
    assert FILES
    code = "import sys; [keras.saving.load_model(p) for p in sys.argv[1:]]"
    python(f"{imports}\n{code}", *FILES)


@pytest.mark.parametrize(
    "imports",
    [
        "import keras_duspar",
        "from keras_duspar import DuSpaR",
        "from keras_duspar.cells.spar import SpaRCell",
        "import keras_duspar.callbacks",
        "from keras_duspar.tflite import convert",
    ],
)
def test_classes_are_known_whatever_is_imported_first(imports):
    code = f"""
import sys
{imports}
import keras

ours = "keras_duspar.startup"
known = [n for n in keras.saving.get_custom_objects() if "keras_duspar>" in n]
assert len(known) == {len(serializable())}
assert not [f for f in sys.meta_path if type(f).__module__ == ours]
assert type(keras.__loader__).__module__ != ours
assert type(keras.__spec__.loader).__module__ != ours
"""
    python(code)


def test_looking_for_keras_changes_nothing():
    code = """
import importlib.util, sys
import keras_duspar
hooks = len(sys.meta_path)
for _ in range(2):
    spec = importlib.util.find_spec("keras")
    assert spec.loader.get_filename("keras") == spec.origin
assert "keras" not in sys.modules and len(sys.meta_path) == hooks
importlib.reload(keras_duspar)
assert len(sys.meta_path) == hooks
import keras
assert len(sys.meta_path) == hooks - 1
assert "keras_duspar>DuSpaR" in keras.saving.get_custom_objects()
before = dict(keras.saving.get_custom_objects())
importlib.reload(keras_duspar)
assert keras.saving.get_custom_objects() == before
"""
    python(code)


def test_threads():
    """They import in any order; all is registered, and nothing twice."""
    code = """
import importlib, sys, threading
import keras_duspar
# Not by the threads: Keras and its backend are not made for that.
import keras
names = ["keras_duspar.layers.recurrent", "keras_duspar.audio.log_mel",
         "keras_duspar.cells.spar", "keras_duspar.callbacks", "keras"]
errors = []
barrier = threading.Barrier(len(names))
def work(name):
    barrier.wait()
    try:
        importlib.import_module(name)
    except BaseException as e:
        errors.append((name, e))
threads = [threading.Thread(target=work, args=[name]) for name in names]
[t.start() for t in threads]
[t.join() for t in threads]
assert not errors, errors
import keras
from keras_duspar.layers import recurrent, registry
known = keras.saving.get_custom_objects()
layer = recurrent.DuSpaR
assert known["keras_duspar>DuSpaR"] is layer is registry.get("duspar")
assert "keras_duspar>LogMel" in known and "keras_duspar>CTC" in known
"""
    python(code)


PACKAGES = sorted(
    path.parent.relative_to(ROOT / "keras_duspar").as_posix()
    for path in (ROOT / "keras_duspar").rglob("__init__.py")
    if "lazy.attach(" in path.read_text()
)


@pytest.mark.parametrize("package", PACKAGES)
def test_dir_shows_the_public_names_alone(package):
    name = ".".join(["keras_duspar", *package.split("/")]).removesuffix("..")
    module = sys.modules.get(name) or __import__(name, fromlist=["x"])
    assert dir(module) == sorted(module.__all__)
    for public in dir(module):
        assert not public.startswith("_")
        assert getattr(module, public) is getattr(module, public)
    assert not hasattr(module, "no_such_name")


def test_modules_do_not_hide_what_they_define():
    code = """
import keras_duspar.profiling.profile, keras_duspar.metrics.stoi
import keras_duspar.models.keyword_spotter, keras_duspar.cli.main
for value in (keras_duspar.profiling.profile, keras_duspar.metrics.stoi,
              keras_duspar.models.keyword_spotter, keras_duspar.cli.main):
    assert callable(value), value
from keras_duspar import profile
assert profile is keras_duspar.profiling.profile
"""
    python(code)


def test_keras_is_not_imported():
    """By running files, nor by asking the command for its help."""
    code = """
import sys
import keras_duspar
from keras_duspar import Cost
from keras_duspar.native import kernels, library_path, load
from keras_duspar.profiling import LayerProfile, Profile
from keras_duspar.tflite import Runner, delegate_path, inspect, load, measure
from keras_duspar.cli import main
commands = ("benchmark", "convert", "enhance", "inspect", "spot", "understand")
for arguments in (["--version"], ["--help"], *([c, "-h"] for c in commands)):
    try:
        main(arguments)
    except SystemExit as stopped:
        assert stopped.code == 0
loaded = {"keras", "tensorflow", "jax", "torch"} & set(sys.modules)
assert not loaded, loaded
"""
    printed = python(code)
    assert printed.startswith(keras_duspar.__version__)
    assert printed.count("usage: keras-duspar") == 7


def test_the_registry_of_this_process():
    known = keras.saving.get_custom_objects()
    assert known["keras_duspar>DuSpaR"] is keras_duspar.DuSpaR
