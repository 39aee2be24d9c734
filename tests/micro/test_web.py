"""The page that runs a model: its machine, its resampler, in a browser."""

import functools
import http.server
import json
import re
import threading

import numpy as np
import pytest

import keras_duspar
from keras_duspar.cli import main
from keras_duspar.micro import web_page
from keras_duspar.streaming import Stream
from tests.browser import open_page
from tests.browser import write_wav
from tests.helpers import assert_close
from tests.helpers import to_numpy
from tests.kits.tools import program
from tests.kits.tools import run
from tests.micro.compiled import export as export_and_compile
from tests.micro.compiled import make_model
from tests.tflite.conftest import make_audio

pytestmark = pytest.mark.any_backend

IN_NODE = """
import { readFileSync } from "node:fs";
import { Machine } from "./machine.js";
import { Player, Resampler } from "./sound.js";
const about = JSON.parse(readFileSync("model.json"));
const module = new WebAssembly.Module(readFileSync("runtime.wasm"));
const machine = new Machine(module, readFileSync("model.bin"), about);
const bytes = readFileSync("audio.f32");
const audio = new Float32Array(
  bytes.buffer, bytes.byteOffset, bytes.length / 4);
const outputs = [];
for (let i = 0; i + about.samples <= audio.length; i += about.samples) {
  machine.input.set(audio.subarray(i, i + about.samples));
  if (machine.push()) outputs.push([...machine.output]);
}
const there = [], back = [];
const down = new Resampler(48000, 16000), up = new Resampler(16000, 48000);
for (let i = 0; i < 9600; i += 128) {
  const block = Float32Array.from({ length: 128 }, (_, k) =>
    Math.sin(2 * Math.PI * 1000 * (i + k) / 48000) +
    Math.sin(2 * Math.PI * 11000 * (i + k) / 48000));
  const few = [];
  down.push(block, (x) => few.push(x));
  there.push(...few);
  up.push(few, (x) => back.push(x));
}
// Played in blocks of 128 at 48 kHz, as it comes, after a reserve.
const player = new Player(16000, 48000, 0.02), played = [];
let next = 0;
for (let i = 0; i < 70; ++i) {
  const output = [new Float32Array(128), new Float32Array(128)];
  for (; next < there.length && 3 * next < 128 * i; ++next) {
    player.put({ sound: there[next] });
  }
  player.play(output, (x) => x.sound);
  if (output[0].some((x, k) => x !== output[1][k])) throw new Error("channels");
  if (player.started) played.push(...output[0]);
}
console.log(JSON.stringify({
  outputs, there, back, played, sources: machine.calls.sources(),
  occupancy: machine.occupancy(), delays: [down.delay, up.delay],
}));
"""


def export(name, folder, **options):
    keras_duspar.export_web(make_model(name), folder, **options)
    return folder


def run_in_node(folder, audio):
    """What `IN_NODE` finds with an exported model."""
    audio.tofile(folder / "audio.f32")
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "test.js").write_text(IN_NODE)
    return json.loads(run(program("node", "nodejs"), "test.js", folder=folder))


def check_tone(samples, rate):
    """A tone of 1 kHz of amplitude 1, and nothing else, once it has begun."""
    samples = np.array(samples)[400:]
    phase = 2 * np.pi * 1000 / rate * np.arange(len(samples))
    waves = np.stack([np.sin(phase), np.cos(phase)], axis=1)
    found, rest, *_ = np.linalg.lstsq(waves, samples, rcond=None)
    assert np.linalg.norm(found) == pytest.approx(1, abs=0.01)
    assert np.sqrt(rest[0] / len(samples)) < 0.01


@pytest.mark.parametrize("name, weights", [("slu", "float32"), ("se", "int8")])
def test_machine_and_resampler(tmp_path, name, weights):
    audio = make_audio(8192, 1)
    export(name, tmp_path, weights=weights)
    found = run_in_node(tmp_path, audio)
    assert found["sources"] == web_page.sources_number(), "make web"
    model = make_model(name)
    if weights != "float32":
        model = keras_duspar.quantize(
            model, keras_duspar.QuantScheme(weights, "float32")
        )
    expected = to_numpy(Stream(model).push(audio))[0]
    actual = np.array(found["outputs"])
    if name == "se":  # the stream leaves the delay out
        actual = actual.ravel()[16:]
    assert_close(actual[: len(expected)], expected, atol=1e-5)
    assert 0.2 < found["occupancy"] < 0.8
    assert abs(len(found["there"]) - 3200) < 50
    check_tone(found["there"], 16000)
    check_tone(found["back"], 48000)
    assert len(found["played"]) > 6000  # without a gap
    check_tone(found["played"], 48000)


def test_integers(tmp_path):
    """Integer operands give what they give in plain C."""
    audio, model = make_audio(8192, 1), make_model("kws")
    options = {"weights": "int8", "representative": audio}
    export("kws", tmp_path, window=None, **options)
    compiled = export_and_compile(model, tmp_path / "c", **options)
    found = run_in_node(tmp_path, audio)
    expected = compiled(audio[0], "push_float")
    # A rounding error may make an operand one more or less.
    assert_close(np.array(found["outputs"]), expected, atol=1e-3)


def test_files_are_small_and_complete(tmp_path, capsys):
    file = tmp_path / "m.keras"
    make_model("kws").save(file)
    folder = tmp_path / "page"
    assert main(["export-web", str(file), str(folder)]) == 0
    assert str(folder) in capsys.readouterr().out
    sizes = {p.name: p.stat().st_size for p in folder.iterdir()}
    assert sum(sizes.values()) - sizes["model.bin"] <= 150_000
    for script in ("index.html", "page.js", "worklet.js"):
        text = (folder / script).read_text()
        for used in re.findall(
            r'["(]\.?/?([\w.]+\.(?:js|json|wasm|bin))"', text
        ):
            assert used in sizes, used
    with pytest.raises(ValueError, match="`model` must take audio"):
        import keras

        inputs = keras.Input((None, 4))
        model = keras.Model(inputs, keras.layers.Dense(2)(inputs))
        keras_duspar.export_web(model, tmp_path / "b")


class Silent(http.server.SimpleHTTPRequestHandler):
    """Serves files, and tells nobody."""

    def log_message(self, *args):
        pass


@pytest.mark.parametrize("name, hops", [("kws", 60), ("se", 500)])
def test_in_a_browser(tmp_path, name, hops):
    folder = export(name, tmp_path / "page")
    sound = 0.4 * np.sin(np.arange(96000) ** 2 / 4e5)
    recording = write_wav(tmp_path / "microphone.wav", sound, 48000)
    handler = functools.partial(Silent, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/index.html"
        with open_page(address, tmp_path, recording) as page:
            page.wait("!document.getElementById('start').disabled")
            page.run("document.getElementById('start').click()")
            page.wait(f"document.body.dataset.hops >= {hops}")
            text = page.run("document.body.innerText")
        server.shutdown()
    assert "listening at" in text
    assert re.search(r"\d+ %", text)
    assert re.search(r"[\d.]+ µs", text)
    assert ("Enhanced" in text) == (name == "se")
