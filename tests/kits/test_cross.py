"""The library through zig's compilers: old glibc, macOS, Windows."""

import importlib.util
import platform
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


def test_32_bit_x86(tmp_path):
    """Android has such emulators; the tests of the operators run here."""
    if platform.machine() != "x86_64" or sys.platform != "linux":
        pytest.skip("only Linux on x86-64 runs it")
    options = ("-DDUSPAR_TESTS=ON", "-DDUSPAR_TRAINING=OFF")
    folder = build(tmp_path, "x86-linux-musl", "test_operators", *options)
    run(folder / "tests" / "test_operators")


def build_for_apple(folder, sources, *options):
    """As Apple's package managers do: without CMake and options by file."""
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("zig is needed: pip install ziglang")
    folder.mkdir()
    run(
        *(sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-macos"),
        *("-std=c11", "-O1", "-s", "-Wall", "-Wextra", "-Werror", *options),
        *("-I", ROOT / "tflite" / "include", "-I", ROOT / "tflite" / "src"),
        *("-shared", "-o", "libduspar.dylib"),
        *sources,
        folder=folder,
    )
    return (folder / "libduspar.dylib").read_bytes()


def test_macos(tmp_path):
    sources = sorted((ROOT / "tflite" / "src").glob("*/*.c"))
    library = build_for_apple(tmp_path / "all", sources, "-DDUSPAR_BUILD")
    assert library[:4] == b"\xcf\xfa\xed\xfe"  # Mach-O
    assert b"_tflite_plugin_create_delegate" in library


def test_swift_packages(tmp_path):
    """What `Package.swift` and the podspec build; no sums are fused."""
    sources = sorted((ROOT / "tflite" / "src").glob("[!t]*/*.c"))
    given = (sources, "-DDUSPAR_STATIC", "-DDUSPAR_NO_TRAINING")
    library = build_for_apple(tmp_path / "plain", *given)
    assert b"_tflite_plugin" not in library  # others have it, too
    assert b"_duspar_delegate_create" in library
    assert b"\0neon_dotprod\0" in library
    assert b"\0neon_fp16\0" in library
    same = build_for_apple(tmp_path / "off", *given, "-ffp-contract=off")
    assert library == same
