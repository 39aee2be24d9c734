"""The library through zig's compilers: old glibc, macOS, Windows."""

import importlib.util
import re
import sys

import pytest

from tests.conftest import ROOT
from tests.kits.tools import program
from tests.kits.tools import run
from tests.native.test_c import find

pytestmark = pytest.mark.any_backend

NOT_LINKED = "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY"


def build(folder, target, goal, *options):
    """Builds with zig for a system, with the flags of `CMakeLists.txt`."""
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("zig is needed: pip install ziglang")
    compiler = folder / "cc"
    zig = f"{sys.executable} -m ziglang cc -target {target}"
    compiler.write_text(f'#!/bin/sh\nexec {zig} "$@"\n')
    compiler.chmod(0o755)
    cmake = find("cmake")
    run(
        *(cmake, "-S", ROOT / "tflite", "-B", folder / "build"),
        *(f"-DCMAKE_C_COMPILER={compiler}", "-DCMAKE_C_FLAGS=-Werror"),
        *(NOT_LINKED, *options),
    )
    run(cmake, "--build", folder / "build", "--target", goal)
    return folder / "build"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_old_glibc(tmp_path, machine):
    """Linked for glibc 2.17, and asks for nothing that is newer."""
    readelf = program("readelf", "binutils")
    folder = build(
        tmp_path,
        f"{machine}-linux-gnu.2.17",
        "duspar",
        "-DCMAKE_SYSTEM_NAME=Linux",
        f"-DCMAKE_SYSTEM_PROCESSOR={machine}",
    )
    library = folder / "libduspar.so"
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", run(readelf, "-VW", library))
    assert versions
    assert max((int(a), int(b)) for a, b in versions) <= (2, 17)
    needed = re.findall(r"NEEDED.*\[(\S+)\]", run(readelf, "-dW", library))
    allowed = ("libc.", "libm.", "libpthread.", "ld-linux")
    assert needed and all(name.startswith(allowed) for name in needed)


def test_windows(tmp_path):
    """Not linked: zig would build Windows' libraries for minutes."""
    options = ("-DCMAKE_SYSTEM_NAME=Windows", "-DCMAKE_SYSTEM_PROCESSOR=AMD64")
    folder = build(tmp_path, "x86_64-windows-gnu", "duspar_objects", *options)
    names = {path.name.split(".")[0] for path in folder.rglob("*.c.obj")}
    assert {"delegate", "avx512_vnni", "avx2_vnni", "training"} <= names


def test_macos(tmp_path):
    """Without CMake, which would ask for Apple's tools."""
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("zig is needed: pip install ziglang")
    library = tmp_path / "libduspar.dylib"
    run(
        *(sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-macos"),
        *("-std=c11", "-O1", "-Wall", "-Wextra", "-Werror"),
        *("-ffp-contract=off", "-fvisibility=hidden", "-DDUSPAR_BUILD"),
        *("-I", ROOT / "tflite" / "include", "-I", ROOT / "tflite" / "src"),
        *("-shared", "-o", library),
        *sorted((ROOT / "tflite" / "src").glob("*/*.c")),
    )
    assert library.read_bytes()[:4] == b"\xcf\xfa\xed\xfe"  # Mach-O
