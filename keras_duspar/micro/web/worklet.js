// Runs the model on the sound card's blocks of 128 samples.
import { Machine } from "./machine.js";
import { Player, Resampler } from "./sound.js";

class Model extends AudioWorkletProcessor {
  constructor(options) {
    super();
    const { module, file, about } = options.processorOptions;
    this.machine = new Machine(
      new WebAssembly.Module(module), file, about);
    this.about = about;
    this.down = new Resampler(sampleRate, about.sample_rate);
    this.player = new Player(
      about.sample_rate, sampleRate, 3 * 128 / sampleRate);
    this.filled = 0; // samples of the next hop
    this.enhanced = true;
    this.original = new Float32Array(about.delay);
    this.blocks = this.hops = this.peak = 0;
    this.port.onmessage = ({ data }) => {
      if ("enhanced" in data) this.enhanced = data.enhanced;
      if (data.reset) this.machine.calls.reset();
    };
  }

  process([input], [output]) {
    const samples = input[0] || new Float32Array(128);
    this.down.push(samples, (sample) => this.take(sample));
    if (this.about.kind === "audio") this.player.play(output);
    if (++this.blocks % 32 === 0) {
      this.port.postMessage({
        peak: this.peak,
        hops: this.hops,
        occupancy: this.machine.occupancy(),
      });
      this.peak = 0;
    }
    return true;
  }

  take(sample) {
    const machine = this.machine;
    this.peak = Math.max(this.peak, Math.abs(sample));
    machine.input[this.filled++] = sample;
    if (this.filled < this.about.samples) return;
    this.filled = 0;
    ++this.hops;
    const hop = machine.input.slice();
    const fresh = machine.push();
    if (this.about.kind === "audio") {
      const original = this.late(hop);
      const heard = this.enhanced ? machine.output : original;
      for (const value of heard) this.player.put(value);
    } else if (fresh) {
      this.port.postMessage({ scores: machine.output.slice() });
    }
  }

  // The original, as late as what the model makes of it.
  late(hop) {
    const all = Float32Array.of(...this.original, ...hop);
    this.original = all.slice(hop.length);
    return all.slice(0, hop.length);
  }
}

registerProcessor("model", Model);
