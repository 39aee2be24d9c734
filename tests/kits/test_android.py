"""The Android kit on a desktop JVM: its Kotlin, its JNI library, TFLite."""

import os
import pathlib
import re
import shutil

import pytest

from tests.conftest import ROOT
from tests.kept.make import make_audio
from tests.kits.android_stubs import write_stubs
from tests.kits.comparison import RATE
from tests.kits.comparison import check_errors
from tests.kits.comparison import check_listening
from tests.kits.comparison import check_same_as_in_python
from tests.kits.comparison import kept_file
from tests.kits.comparison import make_recording
from tests.kits.comparison import write_inputs
from tests.kits.comparison import write_shared_events
from tests.kits.tools import npm_package
from tests.kits.tools import program
from tests.kits.tools import run
from tests.native.test_c import find

pytestmark = pytest.mark.any_backend

KIT = ROOT / "tflite" / "android"
STANDINS = pathlib.Path(__file__).parent / "android"
JSON = pathlib.Path("/usr/share/java/json-android.jar")


@pytest.fixture(scope="session")
def compile_kotlin():
    """Compiles Kotlin sources to a folder, with a class path."""
    program("java", "default-jdk-headless")
    libraries = npm_package("kotlin-compiler", "2.4.20") / "lib"

    def compile_sources(sources, output, *class_path):
        path = os.pathsep.join(str(part) for part in class_path)
        return run(
            *("java", "-Xmx512m", "-XX:TieredStopAtLevel=1"),
            *("-cp", libraries / "kotlin-compiler.jar"),
            "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler",
            *("-no-stdlib", "-no-reflect", "-Werror"),
            *("-cp", f"{libraries / 'kotlin-stdlib.jar'}{os.pathsep}{path}"),
            *("-d", output, *sources),
        )

    compile_sources.stdlib = libraries / "kotlin-stdlib.jar"
    return compile_sources


@pytest.fixture(scope="session")
def jvm(tmp_path_factory, compile_kotlin, tflite_c):
    """Runs `Program.kt` on a file: the kit with TFLite's C library."""
    javac = program("javac", "default-jdk-headless")
    cmake = find("cmake")
    if cmake is None or shutil.which("cc") is None:
        pytest.skip("cmake and a C compiler are needed: see CONTRIBUTING.md")
    if not JSON.is_file():
        pytest.skip("json-android.jar is needed (libandroid-json-org-java)")
    folder = tmp_path_factory.mktemp("jvm")
    native, classes = folder / "native", folder / "classes"
    module = KIT / "duspar/src/main"
    home = pathlib.Path(javac).resolve().parents[1]
    run(
        *(cmake, "-S", module / "cpp", "-B", native),
        *(f"-DJAVA_HOME={home}", "-DCMAKE_C_FLAGS=-Werror"),
    )
    run(cmake, "--build", native)
    run(
        *("cc", "-shared", "-fPIC", STANDINS / "interpreter_jni.c"),
        *("-I", home / "include", "-I", home / "include/linux"),
        *("-I", tflite_c.include, tflite_c.library),
        *("-o", native / "libinterpreter_jni.so"),
    )
    stubs = write_stubs(folder / "stubs")
    run(javac, "-d", classes, *STANDINS.rglob("*.java"), *stubs)
    # The sample app, too, which cannot run here.
    sources = [*KIT.rglob("*.kt"), STANDINS / "Program.kt"]
    compile_kotlin(sources, classes, classes, JSON)

    def run_program(path, audio, *arguments, options=()):
        recording, signature = write_inputs(folder, path, audio)
        recording.with_name(f"{recording.name}.empty").write_text("key step\n")
        class_path = (classes, JSON, compile_kotlin.stdlib)
        output = run(
            *("java", "-Xcheck:jni", f"-Djava.library.path={native}"),
            *(f"-Dduspar.signature={signature}", *options),
            *("-cp", os.pathsep.join(str(part) for part in class_path)),
            *("ProgramKt", path, recording, *arguments),
            LD_LIBRARY_PATH=str(tflite_c.library.parent),
        )
        assert "WARNING in native method" not in output, output
        return output

    run_program.native = native
    return run_program


@pytest.mark.parametrize("name", ["spotter", "recognizer", "enhancer"])
def test_same_as_in_python(jvm, name):
    check_same_as_in_python(jvm, name, ("first", "again", "asset"))


def test_listening(jvm, listening_spotter, tmp_path):
    scores = write_shared_events(tmp_path)
    output = jvm(listening_spotter, make_recording(), RATE, scores)
    check_listening(output, listening_spotter)


def test_delegate_and_errors(jvm):
    output = jvm(kept_file("spotter"), make_audio()[:512])
    assert re.search(
        "^closed: IllegalStateException The .* is closed", output, re.M
    )
    messages = {
        "chunk": "`chunk` must have 256 samples, not 3.",
        "threads": "`numThreads` must be positive, not 0.",
        "damaged": "`bytes` must be a .tflite file",
        "heap": "`model` must be a direct or a mapped ByteBuffer.",
        "signature": "`model` must be a file with an input beside its states.",
        "kernel": "gr??n",
    }
    check_errors(output, "IllegalArgumentException", messages)
    assert "living 0\n" in output


def test_without_the_library(jvm, tmp_path):
    """On a device for which the app has none: an exception, every time."""
    options = (f"-Djava.library.path={tmp_path}", "-Dduspar.absent=yes")
    output = jvm(kept_file("spotter"), make_audio()[:512], options=options)
    found = re.findall("^(\\w+): IllegalStateException The lib", output, re.M)
    assert found == ["library", "library", "delegate"]


def test_what_the_library_holds(jvm):
    """No training, and no names that another delegate may have."""
    nm = program("nm", "binutils")
    library = jvm.native / "libduspar_jni.so"
    names = {
        line.split()[-1]
        for line in run(nm, "-D", "--defined-only", library).splitlines()
    }
    assert names == {"JNI_OnLoad"}
    assert b"xla" not in library.read_bytes().lower()


def test_gradle_files():
    """What cannot be run here is at least what the guide says."""
    library = (KIT / "duspar/build.gradle.kts").read_text()
    sample = (KIT / "sample/build.gradle.kts").read_text()
    project = (KIT / "build.gradle.kts").read_text()
    plugin = re.search(r'library"\) version "(\d+)\.(\d+)', project)
    assert tuple(map(int, plugin.groups())) >= (8, 9)  # for API 36
    assert "compileSdk = 36" in library and "targetSdk = 36" in sample
    assert 'strictly("[1.4,2.0[")' in library
    abis = re.search(r"abiFilters \+= listOf\((.*)\)", library)[1]
    found = set(re.findall('"(.*?)"', abis))
    assert found == {"arm64-v8a", "armeabi-v7a", "x86_64", "x86"}
    wrapper = KIT / "gradle/wrapper/gradle-wrapper.properties"
    gradle = re.search(r"gradle-(\d+)\.(\d+)", wrapper.read_text())
    assert tuple(map(int, gradle.groups())) >= (8, 11)  # for this plugin
