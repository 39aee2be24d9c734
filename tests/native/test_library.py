"""Finding the native library, and what it exports."""

import ctypes
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

import pytest

import keras_duspar
from keras_duspar import native
from keras_duspar.native import interface
from keras_duspar.native import library
from tests.conftest import ROOT

pytestmark = pytest.mark.any_backend


def test_version():
    assert native.load().duspar_version().decode() == keras_duspar.__version__
    assert native.load().duspar_interface() == interface.INTERFACE


def test_environment_comes_first(monkeypatch, tmp_path):
    copy = shutil.copy(native.library_path(), tmp_path)
    monkeypatch.setenv("KERAS_DUSPAR_LIBRARY", copy)
    assert native.library_path() == copy
    monkeypatch.setenv("KERAS_DUSPAR_LIBRARY", str(tmp_path / "none.so"))
    with pytest.raises(FileNotFoundError, match="`KERAS_DUSPAR_LIBRARY` must"):
        native.library_path()


def test_absent_library_says_how_to_build_it(monkeypatch, tmp_path):
    monkeypatch.delenv("KERAS_DUSPAR_LIBRARY", raising=False)
    monkeypatch.setattr(library, "_places", lambda: [tmp_path / "none.so"])
    with pytest.raises(FileNotFoundError, match="`make native`.*C compiler"):
        native.load()


def test_library_that_cannot_be_loaded(monkeypatch, tmp_path):
    place = tmp_path / "other.so"
    place.write_text("for another machine")
    monkeypatch.setenv("KERAS_DUSPAR_LIBRARY", str(place))
    with pytest.raises(ImportError, match="other.so.*cannot be loaded"):
        native.load()


def test_newest_of_several_is_taken(monkeypatch, tmp_path):
    monkeypatch.delenv("KERAS_DUSPAR_LIBRARY", raising=False)
    places = [tmp_path / "a.so", tmp_path / "b.so"]
    for place, age in zip(places, (100, 50)):
        place.write_bytes(b"")
        os.utime(place, (1e9 - age, 1e9 - age))
    monkeypatch.setattr(library, "_places", lambda: places)
    assert native.library_path() == str(places[1])


def test_every_function_of_the_header_is_declared():
    folder = ROOT / "tflite/include"
    # What apps in C hear with; Python has classes of its own for it.
    apps = {"detector.h", "input.h", "micro.h"}
    headers = "".join(
        path.read_text()
        for path in folder.rglob("*.h")
        if path.name not in apps
    )
    public = set(re.findall(r"\b(duspar_\w+|tflite_plugin_\w+)\(", headers))
    functions = interface.FUNCTIONS + interface.TRAINING_FUNCTIONS
    declared = {name for name, _, _ in functions}
    assert public - declared == {
        "duspar_delegate_create",
        "duspar_delegate_destroy",
        "duspar_xla_forward",
        "duspar_xla_backward",
    }
    assert declared <= public


def test_features_of_the_processor():
    """As the system tells them, where it does."""
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not cpuinfo.exists():
        pytest.skip("only Linux on x86-64 tells")
    flags = set(re.search("^flags.*$", cpuinfo.read_text(), re.M)[0].split())
    found = native.load().duspar_cpu_features().decode().split()
    needed = {
        "avx2": {"avx2"},
        "fma": {"fma"},
        "avx512": {"avx512f", "avx512bw", "avx512dq", "avx512vl"},
        "avx512_vnni": {"avx512_vnni"},
        "avx_vnni": {"avx_vnni"},
    }
    assert found == [name for name in needed if needed[name] <= flags]


CHOSEN = """
from keras_duspar import native
print(*native.kernels()[:1], *native.kernels()[-1:])
print(native.load().duspar_train_kernel(0).decode())
weights = {"gate_kernel": [[1.0]], "candidate_kernel": [[1.0]]}
print(native.Layer("spar", weights | {"gate_bias": [0.0]}).kernel)
"""


@pytest.mark.parametrize("kernel", ["portable", "reference", "fast"])
def test_environment_chooses_the_kernel(kernel):
    """In a process of its own: the library reads what that began with."""
    done = subprocess.run(
        [sys.executable, "-c", CHOSEN],
        env={**os.environ, "DUSPAR_KERNEL": kernel},
        capture_output=True,
        text=True,
    )
    if kernel == "fast":
        assert "`DUSPAR_KERNEL` must be a kernel" in done.stderr
        return
    assert done.returncode == 0, done.stderr[-2000:]
    first, last, trains, used = done.stdout.split()
    assert (first, used) == (kernel, kernel)
    if kernel == "portable":
        assert (last, trains) == ("reference", kernel)


def test_exports_and_needs_nothing_else():
    if shutil.which("nm") is None or shutil.which("objdump") is None:
        pytest.skip("binutils are not installed")
    path = native.library_path()
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", path], capture_output=True, text=True
    ).stdout
    names = {line.split()[-1] for line in symbols.splitlines()}
    assert names and all(
        name.startswith(("duspar_", "tflite_plugin_")) for name in names
    )
    headers = subprocess.run(
        ["objdump", "-p", path], capture_output=True, text=True
    ).stdout
    needed = set(re.findall(r"NEEDED +(\S+)", headers))
    # The loader is a part of libc: it keeps the variables of threads.
    needed = {name for name in needed if not name.startswith("ld-linux")}
    assert needed <= {"libc.so.6", "libm.so.6"}


def test_structures_have_the_sizes_of_c(tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    pairs = {
        "duspar_cell": interface.Cell,
        "duspar_parameters": interface.Parameters,
        "duspar_counts": interface.Counts,
        "duspar_operand": interface.OperandDescription,
        "duspar_operator": interface.OperatorDescription,
    }
    checks = [
        f'_Static_assert(sizeof({c}) == {ctypes.sizeof(p)}, "{c}");'
        for c, p in pairs.items()
    ] + [
        f"_Static_assert(offsetof({c}, {field[0]}) == "
        f'{getattr(p, field[0]).offset}, "{c}.{field[0]}");'
        for c, p in pairs.items()
        for field in p._fields_
    ]
    source = tmp_path / "sizes.c"
    source.write_text('#include "duspar.h"\n' + "\n".join(checks) + "\n")
    include = ROOT / "tflite/include"
    done = subprocess.run(
        [compiler, "-std=c11", "-I", include, "-c", source, "-o", os.devnull],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
