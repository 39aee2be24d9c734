"""The iOS kit on Linux: its Swift, the library, TFLite's C library."""

import os
import pathlib
import shutil
from dataclasses import dataclass

import pytest

from keras_duspar import native
from tests.conftest import ROOT
from tests.kept.make import make_audio
from tests.kits.comparison import RATE
from tests.kits.comparison import check_errors
from tests.kits.comparison import check_listening
from tests.kits.comparison import check_same_as_in_python
from tests.kits.comparison import kept_file
from tests.kits.comparison import make_recording
from tests.kits.comparison import write_inputs
from tests.kits.comparison import write_shared_events
from tests.kits.tools import program
from tests.kits.tools import run

pytestmark = pytest.mark.any_backend

KIT = ROOT / "tflite" / "ios"
STANDINS = pathlib.Path(__file__).parent / "ios"
# What Swift imports the C headers by.
MODULES = """module {name} [system] {{
  header "{header}"
  export *
}}
"""


@pytest.fixture(scope="session")
def swiftc():
    return program("swiftc", "swiftlang, of Debian 13 and newer")


def write_module(folder, name, header):
    folder.mkdir(parents=True)
    text = MODULES.format(name=name, header=header)
    (folder / "module.modulemap").write_text(text)


@pytest.fixture(scope="session", params=["5", "6"])
def language(request):
    """Versions of the language that apps are written in."""
    return request.param


@dataclass
class Built:
    """The kit: `run` runs `main.swift` on a file, `flags` import it."""

    run: object
    flags: tuple


@pytest.fixture(scope="session")
def built(tmp_path_factory, swiftc, tflite_c, language):
    """The kit with TFLite's C library."""
    folder = tmp_path_factory.mktemp("swift")
    for name, header in {
        "TensorFlowLiteC": STANDINS / "tensorflowlite_c.h",
        "CDuSpaR": ROOT / "tflite" / "include" / "duspar.h",
    }.items():
        write_module(folder / name, name, header)
    library = pathlib.Path(native.library_path())
    shared = (
        *("-warnings-as-errors", "-swift-version", language, "-I", folder),
        *("-I", folder / "TensorFlowLiteC", "-I", folder / "CDuSpaR"),
        *("-Xcc", f"-I{tflite_c.include}", "-L", folder),
        *("-L", tflite_c.library.parent, "-L", library.parent),
    )
    modules = {
        "TensorFlowLite": ([STANDINS / "TensorFlowLite.swift"], ()),
        "DuSpaR": (
            sorted((KIT / "Sources" / "DuSpaR").glob("*.swift")),
            ("-lTensorFlowLite", "-lduspar"),
        ),
    }
    for name, (sources, libraries) in modules.items():
        run(
            *(swiftc, "-emit-library", "-emit-module", "-module-name", name),
            *(*shared, *sources, *libraries, "-ltensorflowlite_c"),
            *("-o", folder / f"lib{name}.so"),
            folder=folder,
        )
    run(
        *(swiftc, *shared, STANDINS / "main.swift", "-o", folder / "app"),
        *("-lDuSpaR", "-lTensorFlowLite", "-lduspar", "-ltensorflowlite_c"),
        folder=folder,
    )
    places = (folder, tflite_c.library.parent, library.parent)

    def run_program(path, audio, *arguments):
        recording, signature = write_inputs(folder, path, audio)
        return run(
            *(folder / "app", path, recording, *arguments),
            DUSPAR_SIGNATURE=str(signature),
            LD_LIBRARY_PATH=os.pathsep.join(str(place) for place in places),
        )

    return Built(run_program, shared)


@pytest.fixture(scope="session")
def app(built):
    return built.run


@pytest.mark.parametrize("name", ["spotter", "recognizer", "enhancer"])
def test_same_as_in_python(app, name):
    check_same_as_in_python(app, name, ("first", "again"))


def test_listening(app, listening_spotter, tmp_path):
    scores = write_shared_events(tmp_path)
    output = app(listening_spotter, make_recording(), RATE, scores)
    check_listening(output, listening_spotter)


def test_delegate_and_errors(app):
    output = app(kept_file("spotter"), make_audio()[:512])
    messages = {
        "chunk": "`chunk` must have 256 samples, not 3.",
        "threads": "`threadCount` must be positive, not 0.",
        "damaged": "`bytes` must be a .tflite file",
        "kernel": "gr",
    }
    check_errors(output, "DuSpaRError", messages)


RUNTIME = """// swift-tools-version: 5.9
import PackageDescription

let package = Package(
  name: "Any",
  products: [.library(name: "TensorFlowLite", targets: ["TensorFlowLite"])],
  targets: [
    .systemLibrary(name: "TensorFlowLiteC"),
    .target(name: "TensorFlowLite", dependencies: ["TensorFlowLiteC"]),
  ]
)
"""


def copy_package(folder):
    folder.mkdir()
    shutil.copy(ROOT / "Package.swift", folder)
    shutil.copytree(ROOT / "tflite", folder / "tflite")
    return folder


def test_package(swiftc, tmp_path):
    """What Swift's package manager makes of `Package.swift`."""
    swift = program("swift", "swiftlang, of Debian 13 and newer")
    folder = copy_package(tmp_path / "package")
    output = run(swift, "build", "--disable-sandbox", folder=folder)
    assert "warning" not in output
    objects = list(folder.glob(".build/*/debug/*DuSpaR.build/**/*.o"))
    content = b"".join(path.read_bytes() for path in objects)
    assert b"duspar_delegate_create" in content
    assert b"tflite_plugin" not in content  # others have it, too
    assert b"15StreamingRunnerC" not in content


def test_package_with_the_runtime(swiftc, tmp_path, tflite_c):
    """`StreamingRunner` is there if a package with TensorFlow Lite is."""
    swift = program("swift", "swiftlang, of Debian 13 and newer")
    folder = copy_package(tmp_path / "package")
    runtime = tmp_path / "runtime"
    (runtime / "Sources" / "TensorFlowLite").mkdir(parents=True)
    (runtime / "Package.swift").write_text(RUNTIME)
    header = STANDINS / "tensorflowlite_c.h"
    place = runtime / "Sources" / "TensorFlowLiteC"
    write_module(place, "TensorFlowLiteC", header)
    shutil.copy(
        STANDINS / "TensorFlowLite.swift", runtime / "Sources/TensorFlowLite"
    )
    run(
        *(swift, "build", "--disable-sandbox", "--target", "DuSpaR"),
        *("-Xcc", f"-I{tflite_c.include}"),
        folder=folder,
        DUSPAR_TENSORFLOWLITE=str(runtime),
    )
    objects = list(folder.glob(".build/*/debug/DuSpaR.build/*.o"))
    content = b"".join(path.read_bytes() for path in objects)
    assert b"15StreamingRunnerC" in content


def test_sample(swiftc, built, language, tmp_path):
    """Against names of Apple's frameworks, which are not here: not run."""
    for name in ("AVFoundation", "Combine", "SwiftUI"):
        run(
            *(
                swiftc,
                "-emit-module",
                "-module-name",
                name,
                "-parse-as-library",
            ),
            *("-swift-version", language, "-I", tmp_path),
            *("-o", tmp_path / f"{name}.swiftmodule"),
            STANDINS / "apple" / f"{name}.swift",
        )
    run(
        *(swiftc, "-typecheck", *built.flags, "-I", tmp_path),
        *sorted(KIT.glob("Sample/Sample/*.swift")),
    )
