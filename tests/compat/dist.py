"""Installs the files of a release in clean environments without a compiler.

    python tests/compat/dist.py [dist]

The wheel must train, convert and run with its own library; the sources must
install in pure Python, work, and say what is missing when the library is
asked for. Needs `pip install pyelftools`.
"""

import argparse
import io
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile

from elftools.elf.elffile import ELFFile

HERE = pathlib.Path(__file__).resolve().parent
COMPILERS = ("cc", "c99", "gcc", "clang", "zig", "cmake", "make", "ninja")
# Threads were a library of their own until glibc 2.34.
ALLOWED = ("libc.so.", "libm.so.", "libpthread.so.", "ld-linux")
OWN_LIBRARY = """
import sys, keras_duspar
assert keras_duspar.native.library_path().startswith(sys.prefix)
"""


def one_file(folder, pattern):
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        sys.exit(f"`{folder}` must have one {pattern}, not {found or 'none'}")
    return found[0]


def check_links(wheel):
    """The library in a wheel needs libc and libm alone."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("libduspar.so"))
        library = ELFFile(io.BytesIO(archive.read(name)))
    dynamic = library.get_section_by_name(".dynamic")
    needed = [tag.needed for tag in dynamic.iter_tags("DT_NEEDED")]
    assert needed and all(n.startswith(ALLOWED) for n in needed), needed
    print(f"ok: {wheel.name} needs {', '.join(needed)}", flush=True)


class Environment:
    """A new environment; nothing else is on the path.

    Args:
        folder: Path, where to make it.
        backend: String, Keras' backend.
    """

    def __init__(self, folder, backend):
        venv.create(folder, with_pip=True)
        self.folder = folder
        self.variables = {
            name: value
            for name, value in os.environ.items()
            if name not in ("CC", "PYTHONPATH", "KERAS_DUSPAR_LIBRARY")
        }
        self.variables["PATH"] = str(folder / "bin")
        self.variables["KERAS_BACKEND"] = backend
        path = self.variables["PATH"]
        found = [c for c in COMPILERS if shutil.which(c, path=path)]
        assert not found, f"the environment has {found}"

    def run(self, *arguments):
        # Not in the repository, whose sources would be found first.
        python = self.folder / "bin" / "python"
        subprocess.run(
            [python, *arguments],
            check=True,
            cwd=self.folder,
            env=self.variables,
        )

    def install(self, *requirements):
        self.run("-m", "pip", "install", "--quiet", *requirements)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dist", nargs="?", default="dist", type=pathlib.Path)
    dist = parser.parse_args().dist.resolve()
    wheel = one_file(dist, f"*manylinux*_{platform.machine()}.whl")
    source = one_file(dist, "*.tar.gz")
    check_links(wheel)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        print(f"== {wheel.name}", flush=True)
        environment = Environment(folder / "wheel", "tensorflow")
        environment.install(f"{wheel}[tflite]")
        environment.run("-c", OWN_LIBRARY)
        environment.run(HERE / "smoke.py")
        print(f"== {source.name}", flush=True)
        environment = Environment(folder / "source", "jax")
        environment.install(source, "jax", "ai-edge-litert")
        environment.run(HERE / "pure.py", HERE.parent / "kept")


if __name__ == "__main__":
    main()
