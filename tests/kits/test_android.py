"""The Android kit on a desktop JVM: its Kotlin, its JNI library, TFLite."""

import os
import pathlib
import re
import shutil

import numpy as np
import pytest

import keras_duspar
from keras_duspar.tflite import flatbuffer
from tests.conftest import ROOT
from tests.kept.make import HERE as KEPT
from tests.kept.make import make_audio
from tests.kits.android_stubs import write_stubs
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

    def run_program(path, audio):
        recording = folder / "audio.f32"
        audio.astype("<f4").tofile(recording)
        signature = flatbuffer.read(path).signatures[0]
        lines = [f"key {signature.name}"]
        lines += [f"in {name} {i}" for name, i in signature.inputs.items()]
        lines += [f"out {name} {i}" for name, i in signature.outputs.items()]
        (folder / "signature").write_text("\n".join(lines))
        class_path = (classes, JSON, compile_kotlin.stdlib)
        output = run(
            *("java", "-Xcheck:jni", f"-Djava.library.path={native}"),
            f"-Dduspar.signature={folder / 'signature'}",
            *("-cp", os.pathsep.join(str(part) for part in class_path)),
            *("ProgramKt", path, recording),
            LD_LIBRARY_PATH=str(tflite_c.library.parent),
        )
        assert "WARNING in native method" not in output, output
        return output

    return run_program


def rows(output, name):
    """The numbers of the lines that begin with a name."""
    return [
        [float(word) for word in line.split()[1:]]
        for line in output.splitlines()
        if line.split(" ")[0] == name
    ]


@pytest.mark.parametrize("name", ["spotter", "recognizer", "enhancer"])
def test_same_as_in_python(jvm, name):
    """Every step of a stream, its occupancy and its description."""
    pytest.importorskip("ai_edge_litert")
    (path,) = KEPT.glob(f"{keras_duspar.__version__}/{name}.tflite")
    audio = make_audio()
    output = jvm(path, audio)

    runner = keras_duspar.tflite.load(path)
    size = runner.samples
    steps = [
        runner.step(audio[start : start + size]).ravel()
        for start in range(0, len(audio) - size + 1, size)
    ]
    for stream in ("first", "again", "asset"):
        found = rows(output, stream)
        assert [len(row) for row in found] == [len(row) for row in steps]
        for row, step in zip(found, steps):
            np.testing.assert_allclose(row, step, atol=2e-5)

    found = {}
    for line in re.findall("^occupancy .*$", output, re.M):
        _, layer, operand, share = line.split()
        found.setdefault(layer, {})[operand] = float(share)
    assert found == {
        layer: pytest.approx(operands, rel=2e-3)
        for layer, operands in runner.occupancy().items()
    }
    assert "counted {}" in output

    labels = str(runner.labels).replace("'", "")
    assert f"labels {labels.replace('None', 'null')}\n" in output
    assert f"task {runner.task}\n" in output
    assert f"kinds {runner.ops} {runner.weights}\n" in output
    rates = f"{runner.sample_rate} {runner.hop} {size} {runner.delay}"
    assert f"rates {rates}\n" in output


def test_delegate_and_errors(jvm):
    (path,) = KEPT.glob(f"{keras_duspar.__version__}/spotter.tflite")
    output = jvm(path, make_audio()[:512])
    features = keras_duspar.native.load().duspar_cpu_features().decode()
    assert f"version {keras_duspar.__version__}\n" in output
    assert f"features {features}\n" in output
    assert "handle true []\n" in output
    assert re.search(
        "^closed: IllegalStateException The .* is closed", output, re.M
    )
    for name, message in {
        "chunk": "`chunk` must have 256 samples, not 3.",
        "threads": "`numThreads` must be positive, not 0.",
        "damaged": "`bytes` must be a .tflite file",
        "heap": "`model` must be a direct or a mapped ByteBuffer.",
        "kernel": "gr??n",
    }.items():
        line = re.search(
            f"^{name}: IllegalArgumentException (.*)$", output, re.M
        )
        assert line and message in line[1], output
