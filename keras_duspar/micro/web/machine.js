// A model in WebAssembly, and a resampler: for the page and for its worklet.

export class Machine {
  // module: a WebAssembly.Module; file: the bytes of model.bin; about: what
  // model.json says.
  constructor(module, file, about) {
    const instance = new WebAssembly.Instance(module, {});
    this.calls = instance.exports;
    this.about = about;
    const memory = this.calls.memory;
    const start = memory.buffer.byteLength;
    const pages = (bytes) => Math.ceil(bytes / 65536);
    memory.grow(pages(file.byteLength));
    new Uint8Array(memory.buffer).set(new Uint8Array(file), start);
    const room = memory.grow(pages(this.calls.room(start))) * 65536;
    this.calls.load(start, room);
    const floats = (place, size) =>
      new Float32Array(memory.buffer, place, size);
    this.input = floats(this.calls.input(), about.samples);
    this.output = floats(this.calls.output(), about.size);
    this.counts = new Uint32Array(
      memory.buffer, this.calls.counts(), 2 * about.operands.length);
  }

  // Runs the model on `input`; returns whether `output` is new.
  push() {
    return (this.calls.push() >>> this.about.clock) & 1;
  }

  // The share of the MACs of sparse operands since the last time.
  occupancy() {
    let used = 0, all = 0;
    this.about.operands.forEach((operand, i) => {
      used += this.counts[2 * i] * operand.fan;
      all += this.counts[2 * i + 1] * operand.fan;
    });
    this.calls.restart();
    return all ? used / all : NaN;
  }
}

const CROSSINGS = 16, FINE = 256;

// Changes the sample rate of a stream by a sinc function under a Hann window.
export class Resampler {
  constructor(from, to) {
    this.step = from / to;
    this.cut = Math.min(1, to / from) * 0.95; // of half the input's rate
    this.half = from === to ? 0 : Math.ceil(CROSSINGS / this.cut);
    this.delay = this.half; // in samples of the input
    this.table = new Float32Array(this.half * FINE + 2);
    for (let i = 0; i < this.table.length; ++i) {
      const t = i / FINE, x = Math.PI * this.cut * t;
      const sinc = i ? Math.sin(x) / x : 1;
      const window = 0.5 + 0.5 * Math.cos(Math.PI * Math.min(1, t / this.half));
      this.table[i] = this.cut * sinc * window;
    }
    this.kept = new Float32Array(2 * this.half);
    this.next = this.half; // where the next output lies, in `kept`
  }

  // Takes a block of samples, calls `put` with every sample that comes out.
  push(block, put) {
    if (!this.half) {
      for (const sample of block) put(sample);
      return;
    }
    const all = new Float32Array(this.kept.length + block.length);
    all.set(this.kept);
    all.set(block, this.kept.length);
    for (; this.next + this.half < all.length; this.next += this.step) {
      const middle = Math.floor(this.next);
      let sum = 0;
      for (let i = middle - this.half + 1; i <= middle + this.half; ++i) {
        const place = Math.abs(this.next - i) * FINE;
        const low = Math.floor(place);
        const part = place - low;
        sum += all[i] *
          (this.table[low] * (1 - part) + this.table[low + 1] * part);
      }
      put(sum);
    }
    const from = Math.max(0, Math.floor(this.next) - this.half);
    this.kept = all.slice(from);
    this.next -= from;
  }
}

// The probabilities that scores stand for.
export function softmax(scores) {
  const largest = Math.max(...scores);
  const powers = Array.from(scores, (s) => Math.exp(s - largest));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((p) => p / sum);
}
