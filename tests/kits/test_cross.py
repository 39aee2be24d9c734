"""The library through zig's compilers: old glibc, macOS, Windows."""

import importlib.util
import re
import sys

import pytest

from tests.conftest import ROOT
from tests.kits.tools import program
from tests.kits.tools import run

pytestmark = pytest.mark.any_backend

SOURCES = sorted((ROOT / "tflite" / "src").glob("*.c"))
FLAGS = (
    *("-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"),
    *("-fvisibility=hidden", "-DDUSPAR_BUILD", "-fPIC"),
    f"-I{ROOT / 'tflite' / 'include'}",
)


def compile_for(target, *arguments, **options):
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("zig is needed: pip install ziglang")
    zig = (sys.executable, "-m", "ziglang", "cc", "-target", target)
    return run(*zig, *FLAGS, *arguments, **options)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_old_glibc(tmp_path, machine):
    """Linked for glibc 2.17, and asks for nothing that is newer."""
    objdump = program("objdump", "binutils")
    library = tmp_path / "libduspar.so"
    target = f"{machine}-linux-gnu.2.17"
    compile_for(target, "-shared", *SOURCES, "-lm", "-pthread", "-o", library)
    if machine == "x86_64":
        symbols = run(objdump, "-T", library)
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", symbols)
        assert versions
        assert max((int(a), int(b)) for a, b in versions) <= (2, 17)
        needed = re.findall(r"NEEDED +(\S+)", run(objdump, "-p", library))
        allowed = ("libc.", "libm.", "libpthread.", "ld-linux")
        assert needed and all(name.startswith(allowed) for name in needed)


def test_macos(tmp_path):
    library = tmp_path / "libduspar.dylib"
    compile_for("aarch64-macos", "-shared", *SOURCES, "-o", library)
    assert library.read_bytes()[:4] == b"\xcf\xfa\xed\xfe"  # Mach-O


def test_windows(tmp_path):
    """Not linked: zig would build Windows' libraries for minutes."""
    for source in SOURCES:
        target = tmp_path / f"{source.stem}.o"
        compile_for("x86_64-windows-gnu", "-c", source, "-o", target)
