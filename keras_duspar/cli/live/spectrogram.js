// A spectrogram that scrolls, of two sounds of which one is shown, with words.

const SIZE = 512, HOP = 256, ROWS = 96, KEPT = 2048; // columns
const FLOOR = -100, RANGE = 75; // decibels

// From no sound to loud sound.
const COLORS = [
  [7, 7, 26], [38, 24, 92], [106, 32, 122], [190, 52, 98], [243, 122, 60],
  [255, 214, 122], [255, 255, 235],
];

function color(share) {
  const place = share * (COLORS.length - 1);
  const low = Math.min(Math.floor(place), COLORS.length - 2);
  return COLORS[low].map((c, i) => c + (place - low) * (COLORS[low + 1][i] - c));
}

const PALETTE = Array.from({ length: 256 }, (_, i) => color(i / 255));
const WINDOW = Float32Array.from(
  { length: SIZE }, (_, i) => 0.5 - 0.5 * Math.cos(2 * Math.PI * i / SIZE));

// The power of each frequency of SIZE samples, by a fast Fourier transform.
export function power(samples) {
  const re = new Float32Array(SIZE), im = new Float32Array(SIZE);
  for (let i = 0, j = 0; i < SIZE; ++i) {
    re[j] = samples[i] * WINDOW[i];
    let bit = SIZE >> 1;
    for (; j & bit; bit >>= 1) j ^= bit; // j counts with its bits reversed
    j ^= bit;
  }
  for (let half = 1; half < SIZE; half *= 2) {
    for (let k = 0; k < half; ++k) {
      const c = Math.cos(Math.PI * k / half), s = -Math.sin(Math.PI * k / half);
      for (let a = k; a < SIZE; a += 2 * half) {
        const b = a + half;
        const r = re[b] * c - im[b] * s, i = re[b] * s + im[b] * c;
        [re[b], im[b]] = [re[a] - r, im[a] - i];
        [re[a], im[a]] = [re[a] + r, im[a] + i];
      }
    }
  }
  return Float32Array.from(
    { length: SIZE / 2 + 1 }, (_, i) => (re[i] ** 2 + im[i] ** 2) * 16 / SIZE ** 2);
}

const mel = (hertz) => Math.log1p(hertz / 700);
const hertz = (mel) => 700 * Math.expm1(mel);

export class Spectrogram {
  // canvas: where it is drawn; rate: samples per second.
  constructor(canvas, rate) {
    this.canvas = canvas;
    this.rate = rate;
    this.histories = [0, 1].map(() => {
      const history = new OffscreenCanvas(KEPT, ROWS).getContext("2d");
      history.fillStyle = `rgb(${COLORS[0]})`;
      history.fillRect(0, 0, KEPT, ROWS);
      return history;
    });
    this.waiting = [[], []];
    this.columns = 0;
    this.words = [];
    // The first and last frequency of each row, as in the ear.
    const top = mel(rate / 2), bin = (row) => hertz(top * row / ROWS) * SIZE / rate;
    this.rows = Array.from({ length: ROWS }, (_, i) => [bin(i), bin(i + 1)]);
  }

  // Takes pairs of samples.
  put(pairs) {
    for (let i = 0; i < pairs.length; ++i) this.waiting[i & 1].push(pairs[i]);
    while (this.waiting[0].length >= SIZE) {
      this.waiting.forEach((samples, i) => {
        this.column(this.histories[i], power(samples));
        samples.splice(0, HOP);
      });
      ++this.columns;
    }
  }

  column(history, powers) {
    history.drawImage(history.canvas, -1, 0);
    const image = history.createImageData(1, ROWS);
    this.rows.forEach(([first, last], row) => {
      let most = 0;
      const end = Math.max(Math.ceil(last), Math.floor(first) + 1);
      for (let k = Math.floor(first); k < end; ++k) most = Math.max(most, powers[k]);
      const share = (10 * Math.log10(most + 1e-12) - FLOOR) / RANGE;
      const level = Math.round(255 * Math.min(1, Math.max(0, share)));
      image.data.set([...PALETTE[level], 255], 4 * (ROWS - 1 - row));
    });
    history.putImageData(image, KEPT - 1, 0);
  }

  // Draws one of the two sounds.
  draw(which) {
    const { canvas, columns } = this, scale = devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    const shown = Math.min(width, KEPT);
    context.drawImage(
      this.histories[which].canvas, KEPT - shown, 0, shown, ROWS,
      0, 0, width, height);
    // Where a time is, in seconds: a column is a pixel wide.
    const now = (columns * HOP + SIZE - HOP) / this.rate;
    const x = (seconds) => width - (now - seconds) * this.rate / HOP;
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "bottom";
    context.fillStyle = "#07071acc";
    context.fillRect(0, height - 20, width, 20);
    context.fillStyle = "#fffd";
    for (let s = Math.max(1, Math.ceil(now - width * HOP / this.rate)); s <= now; ++s) {
      context.fillRect(x(s), height - 3, 1, 3);
      context.textAlign = x(s) < 12 ? "left" : x(s) > width - 12 ? "right" : "center";
      context.fillText(`${s} s`, x(s), height - 3);
    }
    context.textAlign = "left";
    context.strokeStyle = "#07071acc";
    context.lineWidth = 4;
    context.lineJoin = "round";
    for (const kilo of [1, 2, 4]) {
      const y = height * (1 - mel(1000 * kilo) / mel(this.rate / 2));
      context.strokeText(`${kilo} kHz`, 6, y + 6);
      context.fillText(`${kilo} kHz`, 6, y + 6);
    }
    this.words = this.words.filter((word) => x(word.end) > -100);
    for (const word of this.words) this.drawWord(context, word, x, height);
  }

  drawWord(context, { word, start, end }, x, height) {
    context.font = "600 16px system-ui, sans-serif";
    const wide = context.measureText(word).width + 16, right = x(end);
    const left = right - wide;
    context.fillStyle = "#fffb";
    context.fillRect(right - 1, 34, 1.5, height - 54);
    context.fillRect(x(start), 34, right - x(start), 2);
    context.fillStyle = "#fff";
    context.beginPath();
    context.roundRect(left, 8, wide, 26, 6);
    context.fill();
    context.fillStyle = "#16163a";
    context.textBaseline = "middle";
    context.textAlign = "center";
    context.fillText(word, (left + right) / 2, 21.5);
  }
}
