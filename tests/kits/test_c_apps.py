"""Apps in C: the installed library, found by pkg-config and by CMake."""

import os
import pathlib
import re
import shutil
import sys

import numpy as np
import pytest

import keras_duspar
from keras_duspar import native
from keras_duspar.tflite import compiled
from tests import reference
from tests.conftest import ROOT
from tests.kits.conftest import fetch_tflite_c
from tests.kits.tools import program
from tests.kits.tools import run
from tests.native.test_c import find

pytestmark = pytest.mark.any_backend

EXAMPLES = ROOT / "tflite" / "examples"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Where the library is installed."""
    cmake = find("cmake")
    if cmake is None or shutil.which("cc") is None:
        pytest.skip("cmake and a C compiler are needed: see CONTRIBUTING.md")
    if sys.platform != "linux":
        pytest.skip("written for Linux")
    folder = tmp_path_factory.mktemp("consumer")
    build, prefix = folder / "build", folder / "moved"
    run(cmake, "-S", ROOT / "tflite", "-B", build, "-DCMAKE_INSTALL_LIBDIR=lib")
    run(cmake, "--build", build)
    run(cmake, "--install", build, "--prefix", folder / "first")
    (folder / "first").rename(prefix)  # it must not matter where it is
    return prefix


def check_layer(output):
    """What the example prints is what the equations say."""
    kernel = np.array([[0.5, -1], [1, 0.5], [-0.5, 1], [1.5, 0]])
    weights = {
        "gate_kernel": kernel,
        "candidate_kernel": kernel,
        "gate_bias": np.array([1.0, -1.0]),
    }
    x = np.array([[1, -2, 0, 0.5], [-1, -1, -1, 2], [0, 0, 0, 0]], "float64")
    y = reference.run("spar", weights, x[None])[0]
    assert f"duspar {keras_duspar.__version__}" in output
    found = [
        [float(value) for value in line.split()[2:]]
        for line in output.splitlines()
        if line.startswith("step")
    ]
    np.testing.assert_allclose(found, y[0], atol=2e-6)
    assert "3 of 12 entries were not zero" in output


def test_pkg_config(prefix, tmp_path):
    pkg_config = program("pkg-config", "pkgconf")
    path = str(prefix / "lib" / "pkgconfig")
    flags = run(
        pkg_config, "--cflags", "--libs", "duspar", PKG_CONFIG_PATH=path
    )
    layer = tmp_path / "layer"
    source = EXAMPLES / "layer.c"
    run("cc", "-Wall", "-Werror", source, *flags.split(), "-o", layer)
    check_layer(run(layer, LD_LIBRARY_PATH=str(prefix / "lib")))
    version = run(pkg_config, "--modversion", "duspar", PKG_CONFIG_PATH=path)
    assert version.strip() == keras_duspar.__version__


def test_cmake(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.16)
project(app LANGUAGES C)
find_package(duspar {keras_duspar.__version__} REQUIRED)
add_executable(app {EXAMPLES / "layer.c"})
target_link_libraries(app PRIVATE duspar::duspar)
""")
    cmake, build = find("cmake"), tmp_path / "build"
    run(cmake, "-S", tmp_path, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    run(cmake, "--build", build)
    check_layer(run(build / "app"))


def test_header_in_cpp(tmp_path):
    """The header is C++, too, and the functions have C's names."""
    compiler = program("c++", "g++")
    source = tmp_path / "app.cc"
    source.write_text(
        '#include "duspar.h"\n'
        "int main() { return duspar_interface() != DUSPAR_INTERFACE; }\n"
    )
    library = native.library_path()
    include = ROOT / "tflite/include"
    run(compiler, source, "-I", include, library, "-o", tmp_path / "app")
    folder = os.path.dirname(library)
    run(tmp_path / "app", LD_LIBRARY_PATH=folder)


def check_delegate(output, whole):
    """Scores and occupancy that the example prints are those of Keras."""
    found = [float(line) for line in re.findall(r"^-?\d.*$", output, re.M)]
    np.testing.assert_allclose(found, whole.scores, atol=2e-5)
    for layer, operands in whole.occupancy.items():
        for operand, share in operands.items():
            line = re.search(rf"^{layer} {operand} (.*)$", output, re.M)
            assert float(line[1]) == pytest.approx(share, rel=2e-3)


def test_with_the_runtime_in_c(prefix, tmp_path, tflite_c, whole_spotter):
    """The delegate in an app that uses TFLite's C interface."""
    app = tmp_path / "delegate"
    run(
        "cc",
        "-Wall",
        EXAMPLES / "delegate.c",
        *("-I", prefix / "include", "-I", tflite_c.include),
        *("-L", prefix / "lib", "-lduspar", tflite_c.library),
        *("-o", app),
    )
    output = run(
        app,
        whole_spotter.path,
        given=whole_spotter.audio.tobytes(),
        LD_LIBRARY_PATH=f"{prefix / 'lib'}:{tflite_c.library.parent}",
    )
    check_delegate(output, whole_spotter)


def test_with_the_runtime_on_arm(tmp_path, whole_spotter):
    """The same app, emulated: the kernels that phones have."""
    compiler = program("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")
    emulator = program("qemu-aarch64", "qemu-user")
    system = pathlib.Path("/usr/aarch64-linux-gnu")
    if not (system / "lib" / "libstdc++.so.6").exists():
        pytest.skip("libstdc++6-arm64-cross (Debian's name) is needed")
    tflite_c = fetch_tflite_c("aarch64")
    run(
        *(find("cmake"), "-S", ROOT / "tflite", "-B", tmp_path),
        *("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64"),
        f"-DCMAKE_C_COMPILER={compiler}",
    )
    run(find("cmake"), "--build", tmp_path)
    app = tmp_path / "app"
    run(
        *(compiler, EXAMPLES / "delegate.c", "-o", app),
        *("-I", ROOT / "tflite" / "include", "-I", tflite_c.include),
        *("-L", tmp_path, "-lduspar", tflite_c.library),
    )
    places = f"{tmp_path}:{tflite_c.library.parent}"
    output = run(
        *(emulator, "-L", system, "-E", f"LD_LIBRARY_PATH={places}"),
        *(app, whole_spotter.path),
        given=whole_spotter.audio.tobytes(),
    )
    check_delegate(output, whole_spotter)


HEADERS = [
    *("common", "compiled_model", "environment", "model", "model_types"),
    *("options", "tensor_buffer", "tensor_buffer_types"),
]


def test_with_litert_2(prefix, tmp_path):
    """An app with LiteRT 2: numbers and occupancy are those of Python."""
    try:
        path = pathlib.Path(compiled.load_litert()._name)
    except (ImportError, OSError) as e:
        pytest.skip(str(e))
    include = tmp_path / "include" / "litert" / "c"
    include.mkdir(parents=True)
    stand_in = ROOT / "tests" / "kits" / "litert" / "litert.h"
    for header in HEADERS:
        (include / f"litert_{header}.h").write_text(f'#include "{stand_in}"\n')
    app = tmp_path / "litert2"
    run(
        *("cc", "-Wall", "-Werror", EXAMPLES / "litert2.c", "-o", app),
        *("-I", prefix / "include", "-I", tmp_path / "include"),
        *("-L", prefix / "lib", "-lduspar", path),
    )
    rng = np.random.default_rng(2)
    audio = (rng.normal(size=8192) / 10).astype("float32")
    runner = keras_duspar.tflite.load(
        "kws_duspar_128_commands12", streaming=True
    )
    scores = runner(audio)
    output = run(
        *(app, runner.path),
        given=audio.tobytes(),
        LD_LIBRARY_PATH=f"{prefix / 'lib'}:{path.parent}",
    )
    found = [float(line) for line in re.findall(r"^-?\d.*$", output, re.M)]
    np.testing.assert_allclose(found, scores, atol=1e-6)
    for layer, operands in runner.occupancy().items():
        for operand, share in operands.items():
            assert f"{layer} {operand} {share:.6f}\n" in output
