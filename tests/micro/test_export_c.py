"""Models in C compute what they compute in Keras and in TFLite."""

import ctypes
import os
import pathlib
import re
import subprocess

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar import tflite
from keras_duspar.cli import main
from keras_duspar.streaming import Detector
from keras_duspar.streaming import Event
from keras_duspar.utils.audio_files import read_mono
from tests.conftest import ROOT
from tests.helpers import assert_close
from tests.helpers import skip_unless_deployable
from tests.helpers import to_numpy
from tests.kits.comparison import kept_file
from tests.kits.tools import program
from tests.kits.tools import run
from tests.micro.compiled import FLAGS
from tests.micro.compiled import compiler
from tests.micro.compiled import export
from tests.micro.compiled import make_model
from tests.micro.compiled import samples_of
from tests.streaming import shared_events
from tests.tflite.conftest import make_audio

DATA = ROOT.parent / "shared/data"
pytestmark = pytest.mark.any_backend


def recordings():
    """Noise, and speech where there is some, as audio of 16 bits."""
    found = [make_audio(8192, 1)[0]]
    folder = pathlib.Path(os.environ.get("KERAS_DUSPAR_DATA", DATA))
    paths = sorted((folder / "kws").glob("right/*.flac"))[:3]
    found += [read_mono(path, 16000) for path in paths]
    return list(map(samples_of, found))


@pytest.mark.parametrize("weights", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("name", ["kws", "slu", "se"])
def test_equal_to_tflite(tmp_path, name, weights):
    skip_unless_deployable()
    model, audio = make_model(name), recordings()
    options = {"weights": weights}
    if weights == "int8":
        options["representative"] = [floats[np.newaxis] for _, floats in audio]
    compiled = export(model, tmp_path / "c", **options)
    path = tmp_path / "m.tflite"
    tflite.convert(model, path, streaming=True, report=None, **options)
    runner = tflite.load(path)
    hop = compiled.constants["SAMPLES"]
    # A rounding error may make an operand of integers one more or less.
    atol = 1e-3 if weights == "int8" else 1e-5
    for integers, floats in audio:
        runner.reset()
        runner.reset_counters()
        compiled.function("reset")()
        starts = range(0, len(integers) - hop + 1, hop)
        expected = [
            runner.step(floats[i : i + hop]).reshape(-1, compiled.sizes[0])
            for i in starts
        ]
        actual = compiled(integers)
        assert len(actual) == len(np.concatenate(expected)) > 1
        assert_close(actual, np.concatenate(expected), atol=atol)
        counted = runner.occupancy().values()
        counted = [o for found in counted for o in found.values()]
        assert compiled.occupancies() == pytest.approx(counted, abs=2e-3)
    compiled.function("reset")()
    np.testing.assert_array_equal(compiled(floats, "push_float"), actual)


def test_window(tmp_path):
    """The mean of the last frames, also after many of them."""
    model = make_model("kws")
    steps = 5
    compiled = export(model, tmp_path, window=steps * 256 / 16000)
    sources = ["model.c", "model_test.c", "-o", "test"]
    run(compiler(), *FLAGS, *sources, folder=tmp_path)
    assert "passed" in run("./test", folder=tmp_path)
    integers, floats = samples_of(make_audio(256 * 23, 1)[0])
    inner = keras.Model(model.input, model.get_layer("classifier").output)
    frames = to_numpy(inner(floats[np.newaxis]))[0]
    expected = [
        frames[max(0, i - steps + 1) : i + 1].mean(axis=0)
        for i in range(len(frames))
    ]
    assert_close(compiled(integers), np.array(expected), atol=1e-5)
    with pytest.raises(ValueError, match="`window` must be a number"):
        keras_duspar.export_c(model, tmp_path, window=0)


def events_of(compiled, audio):
    """The words that an exported spotter hears, as Python's events."""

    class Heard(ctypes.Structure):
        _fields_ = [
            ("word", ctypes.c_int),
            ("start", ctypes.c_double),
            ("end", ctypes.c_double),
            ("confidence", ctypes.c_float),
        ]

    heard = compiled.function("heard", ctypes.POINTER(Heard))
    labels = (ctypes.c_char_p * 4).in_dll(compiled.library, "model_labels")
    push, hop = compiled.function("push", ctypes.c_uint32), 256
    found = []
    for i in range(len(audio) // hop):
        chunk = np.ascontiguousarray(audio[i * hop : (i + 1) * hop])
        if push(ctypes.c_void_p(chunk.ctypes.data)) >> 31:
            e = heard()[0]
            word = labels[e.word].decode()
            found.append(Event(word, e.start, e.end, e.confidence))
    return found


def test_detector(tmp_path):
    """Hears what the detector in Python hears, with a file's thresholds."""
    model, labels = shared_events.make_spotter(), shared_events.LABELS
    settings = {"thresholds": 0.4, "smoothing": 0.05, "refractory": 0.2}
    options = {"labels": labels, "window": 0.2}
    compiled = export(model, tmp_path / "c", detector=settings, **options)
    expected = []
    for integers, _ in recordings()[:2]:
        detector = Detector(model, **options, **settings)
        events = detector.push(integers)
        compiled.function("reset")()
        found = events_of(compiled, integers)
        shared_events.assert_same_events(found, events, atol=1e-4)
        expected += events
    assert len(expected) > 1
    runtime = ROOT / "keras_duspar/micro/runtime/decisions_template.h"
    copy = ROOT / "tflite/src/listening/decisions_template.h"
    assert runtime.read_text() == copy.read_text()
    with pytest.raises(ValueError, match="`detector` needs a `window`"):
        keras_duspar.export_c(model, tmp_path / "a", detector=settings)
    with pytest.raises(ValueError, match="`detector` must be a dictionary"):
        keras_duspar.export_c(
            model, tmp_path / "a", window=1.0, detector={"x": 1}
        )


def test_detector_of_a_file(tmp_path):
    skip_unless_deployable()
    model, labels = shared_events.make_spotter(), shared_events.LABELS
    path = tmp_path / "m.tflite"
    options = {"streaming": True, "window": 0.2, "labels": labels}
    tflite.convert(model, path, report=None, **options)
    with pytest.raises(ValueError, match="converted with `window`"):
        plain = kept_file("spotter")
        keras_duspar.export_c(model, tmp_path / "c", detector=plain)
    tflite.store_detector(path, {"yes": 0.5}, 0.05, 0.2)
    keras_duspar.export_c(
        model, tmp_path / "c", labels=labels, detector=path, report=None
    )
    text = (tmp_path / "c" / "c.c").read_text()
    assert "0.5f, 0.800000012f, 2.0f, 2.0f" in text
    assert "#define C_QUIET 12" in text and "#define C_SMOOTHING 3" in text


def test_audio_comes_out_as_integers(tmp_path):
    compiled = export(make_model("se"), tmp_path)
    loud = 4 * make_audio(1600, 1)[0]
    outputs = np.zeros(16, "int16")
    for i in range(100):
        compiled(loud[16 * i : 16 * i + 16], "push_float")
        compiled.function("audio")(ctypes.c_void_p(outputs.ctypes.data))
        expected = np.round(compiled.output() * 32768)
        np.testing.assert_array_equal(outputs, np.clip(expected, -32768, 32767))


def test_files_need_nothing_and_test_themselves(tmp_path):
    folder = tmp_path / "words"
    printed = []
    path = keras_duspar.export_c(
        make_model("slu"),
        f"{folder}/",
        labels=[f'"{i}"' for i in range(31)],
        report=lambda footprint: printed.append(str(footprint)),
    )
    assert path == folder
    names = ["words.c", "words.h", "words_test.c"]
    assert sorted(p.name for p in folder.iterdir()) == names
    cc = [compiler(), *FLAGS, "-O2"]
    run(*cc, "-c", "words.c", folder=folder)
    symbols = run(program("nm", "binutils"), "words.o", folder=folder)
    needed = set(re.findall(r" U (\w+)", symbols))
    assert needed <= {"memcpy", "memmove", "memset"}
    defined = set(re.findall(r" [TRD] (\w+)", symbols))
    functions = ["init", "reset", "push", "push_float", "output", "labels"]
    assert defined == {f"words_{name}" for name in functions}
    # The footprint is what the compiler says.
    sizes = dict.fromkeys("rb", 0)
    output = run(program("nm", "binutils"), "-S", "words.o", folder=folder)
    for size, kind in re.findall(r"\w+ (\w+) (\w) words_", output):
        sizes[kind] = sizes.get(kind, 0) + int(size, 16)
    flash, ram = (
        int(found.replace(",", ""))
        for found in re.findall(r"([\d,]+) bytes", printed[0])
    )
    assert abs(flash - sizes["r"]) < 400  # pointers, alignment
    assert abs(ram - sizes["b"]) < 100
    assert "MACs" in printed[0]

    checked = ["-fsanitize=address,undefined", "-fno-sanitize-recover"]
    sources = ["words.c", "words_test.c", "-o", "test"]
    run(*cc, *checked, *sources, folder=folder)
    assert "passed" in run("./test", folder=folder)
    test = folder / "words_test.c"
    text = test.read_text()
    number = re.search(r"words_expected\[\] = \{\n  (\S+),", text)[1]
    test.write_text(text.replace(number, "7.5f", 1))
    run(*cc, *sources, folder=folder)
    done = subprocess.run(["./test"], cwd=folder, capture_output=True)
    assert done.returncode == 1 and b"FAILED" in done.stdout


def test_bad_arguments(tmp_path):
    model = keras.Sequential([keras.Input((None, 6)), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match="`name` must be an identifier"):
        keras_duspar.export_c(model, tmp_path / "a b")
    with pytest.raises(ValueError, match="`weights` must be one of"):
        keras_duspar.export_c(model, tmp_path / "a", weights="int4")
    with pytest.raises(ValueError, match="`labels` must be a list of 2"):
        keras_duspar.export_c(model, tmp_path / "a", labels=["x"] * 9)


def test_command(tmp_path, capsys):
    file = tmp_path / "m.keras"
    make_model("kws").save(file)
    command = ["export-c", str(file), str(tmp_path / "kws")]
    assert main([*command, "--weights", "int8"]) == 0
    assert "flash" in capsys.readouterr().out
    assert (tmp_path / "kws" / "kws.c").exists()
    assert main([*command, "--name", "1"]) == 2
    assert "`name` must be" in capsys.readouterr().err
