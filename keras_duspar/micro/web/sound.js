// Sound in a worklet: its rate is changed, and it waits to be played.

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

// Sound that is to be played, at another rate than the sound card's, with a
// reserve against the uneven steps in which it comes.
export class Player {
  // from, to: sample rates; reserve: seconds to wait for at the beginning, and
  // again when it has run dry; most: seconds that are kept, the rest is
  // dropped, so that it never lags.
  constructor(from, to, reserve, most = Infinity) {
    this.resampler = new Resampler(from, to);
    this.reserve = Math.ceil(reserve * from);
    this.most = most * from;
    this.waiting = []; // at the first rate
    this.ready = []; // at the second
    this.started = false;
  }

  // Takes the next sample: a number, or what `choose` makes one of.
  put(sample) {
    if (this.waiting.length < this.most) this.waiting.push(sample);
  }

  // Fills the channels of a worklet's output, or leaves them silent.
  play(output, choose = (sample) => sample) {
    const size = output[0].length;
    this.started ||= this.waiting.length >= this.reserve;
    while (this.started && this.ready.length < size) {
      this.started = this.waiting.length > 0;
      this.resampler.push(
        this.waiting.splice(0, 64).map(choose), (x) => this.ready.push(x));
    }
    if (this.ready.length < size) return;
    const block = this.ready.splice(0, size);
    for (const channel of output) channel.set(block);
  }
}
