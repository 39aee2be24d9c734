"""The iOS kit on Linux: its Swift, the library, TFLite's C library."""

import os
import pathlib
import shutil

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


@pytest.fixture(scope="session")
def app(tmp_path_factory, swiftc, tflite_c):
    """Runs `main.swift` on a file: the kit with TFLite's C library."""
    folder = tmp_path_factory.mktemp("swift")
    for name, header in {
        "TensorFlowLiteC": STANDINS / "tensorflowlite_c.h",
        "CDuSpaR": ROOT / "tflite" / "include" / "duspar.h",
    }.items():
        (folder / name).mkdir()
        text = MODULES.format(name=name, header=header)
        (folder / name / "module.modulemap").write_text(text)
    library = pathlib.Path(native.library_path())
    shared = (
        *("-warnings-as-errors", "-swift-version", "5", "-I", folder),
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

    return run_program


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


def test_package(swiftc, tmp_path):
    """What Swift's package manager makes of `Package.swift`."""
    swift = program("swift", "swiftlang, of Debian 13 and newer")
    shutil.copy(ROOT / "Package.swift", tmp_path)
    shutil.copytree(ROOT / "tflite", tmp_path / "tflite")
    output = run(swift, "build", "--disable-sandbox", folder=tmp_path)
    assert "warning" not in output


def test_sample_is_swift(swiftc):
    """Apple's frameworks are not here: it can only be parsed."""
    run(swiftc, "-parse", *sorted(KIT.glob("Sample/Sample/*.swift")))
