"""Microseconds per hop of the paper's models in WebAssembly, in Node.

`python -m tests.micro.web_speed` prints the table of docs/browser.md.
"""

import pathlib
import tempfile

import keras_duspar
from tests.kits.tools import program
from tests.kits.tools import run
from tests.micro.compiled import make_model
from tests.tflite.conftest import make_audio

IN_NODE = """
import { readFileSync } from "node:fs";
import { Machine } from "./machine.js";
const about = JSON.parse(readFileSync("model.json"));
const module = new WebAssembly.Module(readFileSync("runtime.wasm"));
const machine = new Machine(module, readFileSync("model.bin"), about);
const hops = 50;
let least = Infinity;
for (let round = 0; round < 200; ++round) {
  const start = performance.now();
  for (let hop = 0; hop < hops; ++hop) {
    for (let i = 0; i < about.samples; ++i) {
      machine.input[i] = (Math.random() - 0.5) / 4;
    }
    machine.push();
  }
  least = Math.min(least, performance.now() - start);
}
console.log((1000 * least / hops).toFixed(1), machine.occupancy().toFixed(2));
"""


def main():
    """Prints microseconds and occupancy."""
    for name, units in (("kws", 128), ("se", 116)):
        for weights in ("float32", "int8"):
            options = {"weights": weights}
            if weights == "int8":
                options["representative"] = make_audio(8000)
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                model = make_model(name, units)
                keras_duspar.export_web(model, folder, **options)
                (folder / "package.json").write_text('{"type": "module"}')
                (folder / "speed.js").write_text(IN_NODE)
                node = program("node", "nodejs")
                print(name, weights, run(node, "speed.js", folder=folder))


if __name__ == "__main__":
    main()
