// Runs the model on the sound card's blocks of 128 samples.
import { Machine, Resampler } from "./machine.js";

class Model extends AudioWorkletProcessor {
  constructor(options) {
    super();
    const { module, file, about } = options.processorOptions;
    this.machine = new Machine(
      new WebAssembly.Module(module), file, about);
    this.about = about;
    this.down = new Resampler(sampleRate, about.sample_rate);
    this.up = new Resampler(about.sample_rate, sampleRate);
    this.filled = 0; // samples of the next hop
    // What is to be heard, with a reserve against the uneven steps of rates.
    this.queue = [];
    this.started = false;
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
    if (this.about.kind === "audio") this.play(output);
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
      this.up.push(heard, (value) => this.queue.push(value));
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

  play(output) {
    const size = output[0].length;
    if (!this.started) this.started = this.queue.length >= 3 * size;
    if (!this.started || this.queue.length < size) return;
    const block = this.queue.splice(0, size);
    for (const channel of output) channel.set(block);
  }
}

registerProcessor("model", Model);
