"""What every kit for apps must give: the numbers of the runner in Python."""

import re

import numpy as np
import pytest

import keras_duspar
from keras_duspar.streaming import Detector
from keras_duspar.streaming import Event
from keras_duspar.tflite import flatbuffer
from tests.kept.make import HERE as KEPT
from tests.kept.make import make_audio
from tests.streaming.shared_events import assert_same_events
from tests.streaming.shared_events import read_events


def kept_file(name):
    return KEPT / keras_duspar.__version__ / f"{name}.tflite"


def write_inputs(folder, path, audio):
    """Writes samples, and a file's signature as the stand-ins read it."""
    recording, signature = folder / "audio.f32", folder / "signature"
    audio.astype("<f4").tofile(recording)
    found = flatbuffer.read(path).signatures[0]
    lines = [f"key {found.name}"]
    lines += [f"in {name} {i}" for name, i in found.inputs.items()]
    lines += [f"out {name} {i}" for name, i in found.outputs.items()]
    signature.write_text("\n".join(lines))
    return recording, signature


def rows(output, name):
    """The numbers of the lines that begin with a name."""
    return [
        [float(word) for word in line.split()[1:]]
        for line in output.splitlines()
        if line.split(" ")[0] == name
    ]


def check_same_as_in_python(run_program, name, streams):
    """Every step of a stream, its occupancy and its description."""
    pytest.importorskip("ai_edge_litert")
    path, audio = kept_file(name), make_audio()
    output = run_program(path, audio)

    runner = keras_duspar.tflite.load(path)
    size = runner.samples
    steps = [
        runner.step(audio[start : start + size]).ravel()
        for start in range(0, len(audio) - size + 1, size)
    ]
    for stream in streams:
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


def check_errors(output, error, messages):
    """What is refused, and in which words; the library is this version's."""
    features = keras_duspar.native.load().duspar_cpu_features().decode()
    assert f"version {keras_duspar.__version__}\n" in output
    assert f"features {features}\n" in output
    assert "handle true []\n" in output
    for name, message in messages.items():
        line = re.search(f"^{name}: {error} (.*)$", output, re.M)
        assert line and message in line[1], output


RATE = 44100


def make_recording():
    """Noise that comes and goes, at another rate than the models'."""
    t = np.arange(4 * RATE)
    noise = np.random.default_rng(3).normal(0, 0.1, len(t))
    audio = noise * np.abs(np.sin(t / 9000)) + 0.1 * np.sin(t**1.5 / 3000)
    return np.round(np.clip(audio, -1, 1) * 32767) / 32768


def write_shared_events(folder):
    """Labels, numbers, thresholds and scores, as the programs read them."""
    shared = read_events()
    names = ("window", "smoothing", "refractory")
    numbers = [shared.seconds, *(shared.settings[name] for name in names)]
    thresholds = [
        "none" if t is None else t for t in shared.settings["thresholds"]
    ]
    rows = [shared.labels, numbers, thresholds, *shared.scores.tolist()]
    text = "\n".join(" ".join(map(str, row)) for row in rows)
    path = folder / "scores"
    text = text.replace("nan", "NaN").replace("inf", "Infinity")
    path.write_text(text)
    return path


def events_in(output, name):
    """The events of the lines that begin with a name."""
    found = []
    for line in output.splitlines():
        first, *rest = line.split(" ")
        if first == name:
            start, end, confidence, word = rest
            found.append(
                Event(word, float(start), float(end), float(confidence))
            )
    return found


def expected_events(path):
    """What Python hears in the recording."""
    detector = Detector(keras_duspar.tflite.load(path))
    events = detector.push(make_recording(), RATE)
    assert len(events) > 3 and len({event.word for event in events}) == 2
    return events


def check_listening(output, path):
    """Events as in Python, whose resampler is another one."""
    events = expected_events(path)
    for name in ("floats", "shorts"):
        assert_same_events(events_in(output, name), events, 0.05)
    assert_same_events(events_in(output, "shared"), read_events().events)
    assert "finite true" in output
    for name, message in {
        "rate": "must have rates from 8000 to 48000",
        "scores": "`scores` must be 4, not 1.",
        "source": "`push` needs a detector that was made of a runner.",
        "thresholds": "`thresholds` must be above 0",
    }.items():
        line = re.search(f"^{name}: (.*)$", output, re.M)
        assert line and message in line[1], output
