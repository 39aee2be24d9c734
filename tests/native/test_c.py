"""The library's own C tests, built in the ways in which it is used.

They drive the delegate through TFLite's ABI and replay what the fuzzers have
found: with the machine's compiler, with sanitizers, and emulated on ARM.
"""

import ctypes
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from keras_duspar.native.library import NAME
from tests.conftest import ROOT

pytestmark = pytest.mark.any_backend


def find(program):
    """The program, also when only the Python environment has it."""
    here = pathlib.Path(sys.executable).parent
    return shutil.which(program) or shutil.which(program, path=str(here))


def build_and_test(folder, *options):
    cmake = find("cmake")
    if cmake is None or shutil.which("cc") is None:
        pytest.skip("cmake and a C compiler are needed: see CONTRIBUTING.md")
    sources = ROOT / "tflite"
    for command in (
        [cmake, "-S", sources, "-B", folder, "-DDUSPAR_TESTS=ON", *options],
        [cmake, "--build", folder],
        [
            pathlib.Path(cmake).with_name("ctest"),
            "--test-dir",
            folder,
            "--output-on-failure",
            "--no-tests=error",
        ],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "100% tests passed" in done.stdout


def test_with_the_compiler(tmp_path):
    build_and_test(tmp_path, "-DCMAKE_C_FLAGS=-Werror")


WITHOUT_TRAINING = """
import numpy as np
import keras_duspar
from keras_duspar.layers import native_loop

x = np.ones((2, 3, 4), "float32")
layer = keras_duspar.DuSpaR(5)
layer(x, training=True)
print(native_loop.used_by([layer]))
weights = {"gate_kernel": np.ones((4, 2)), "candidate_kernel": np.ones((4, 2))}
weights["gate_bias"] = np.zeros(2)
y, _, _ = keras_duspar.native.Layer("spar", weights)(x)
assert y.shape == (2, 3, 2)
layer.implementation = "native"
for call in (
    lambda: layer(x, training=True),
    keras_duspar.native.training_memory,
):
    try:
        call()
    except (ValueError, ImportError) as error:
        print(*str(error).split())
"""


def test_without_training(tmp_path):
    """Training and XLA are absent, and Python says so and uses Keras."""
    build_and_test(tmp_path, "-DDUSPAR_TRAINING=OFF", "-DCMAKE_C_FLAGS=-Werror")
    path = str(tmp_path / NAME)
    library = ctypes.CDLL(path)
    for name in ("train_forward", "train_kernel", "xla_forward"):
        assert not hasattr(library, f"duspar_{name}")
    assert hasattr(library, "duspar_layer_run")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TRAINING],
        env={**os.environ, "KERAS_DUSPAR_LIBRARY": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    used, refused, memory = done.stdout.splitlines()
    assert used.startswith("Keras (the native library was built without")
    assert "`implementation='native'`" in refused
    for message in (used, refused, memory):
        assert "DUSPAR_TRAINING=ON" in message


def test_like_the_header_of_xla():
    jaxlib = importlib.util.find_spec("jaxlib")
    compiler = shutil.which("cc")
    if jaxlib is None or compiler is None:
        pytest.skip("jaxlib and a C compiler are needed")
    header = pathlib.Path(jaxlib.origin).parent / "include"
    tests = ROOT / "tflite" / "tests"
    done = subprocess.run(
        [
            *(compiler, "-std=c11", "-Werror", "-fsyntax-only"),
            *(f"-I{header}", f"-I{ROOT / 'tflite' / 'src'}"),
            str(tests / "xla_official.c"),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]


def test_with_sanitizers(tmp_path):
    source = tmp_path / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    flags = "-fsanitize=address,undefined"
    compiler = shutil.which("cc")
    if (
        compiler is None
        or subprocess.run(
            [compiler, flags, source, "-o", tmp_path / "empty"],
            capture_output=True,
        ).returncode
    ):
        pytest.skip("the C compiler has no sanitizers")
    build_and_test(
        tmp_path / "build",
        "-DDUSPAR_SANITIZE=ON",
        "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_C_FLAGS=-O1",
    )


@pytest.mark.parametrize(
    "processor, compiler, emulator, package",
    [
        (
            "aarch64",
            "aarch64-linux-gnu-gcc",
            "qemu-aarch64",
            "gcc-aarch64-linux-gnu",
        ),
        (
            "armv7l",
            "arm-linux-gnueabihf-gcc",
            "qemu-arm",
            "gcc-arm-linux-gnueabihf",
        ),
    ],
)
def test_on_arm(tmp_path, processor, compiler, emulator, package):
    compiler, emulator = shutil.which(compiler), shutil.which(emulator)
    if compiler is None or emulator is None:
        pytest.skip(f"{package} and qemu-user (Debian's names) are needed")
    build_and_test(
        tmp_path,
        "-DCMAKE_SYSTEM_NAME=Linux",
        f"-DCMAKE_SYSTEM_PROCESSOR={processor}",
        f"-DCMAKE_C_COMPILER={compiler}",
        "-DCMAKE_EXE_LINKER_FLAGS=-static",
        f"-DCMAKE_CROSSCOMPILING_EMULATOR={emulator}",
    )
