"""The library's own C tests, built in the ways in which it is used.

They drive the delegate through TFLite's ABI and replay what the fuzzers have
found: with the machine's compiler, with sanitizers, and emulated on ARM.
"""

import importlib.util
import pathlib
import shutil
import subprocess
import sys

import pytest

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
