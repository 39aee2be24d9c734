// A model in WebAssembly, for the page and for its worklet.

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

// The probabilities that scores stand for.
export function softmax(scores) {
  const largest = Math.max(...scores);
  const powers = Array.from(scores, (s) => Math.exp(s - largest));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((p) => p / sum);
}
