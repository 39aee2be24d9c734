// Takes sound to the page in blocks, and plays what comes back.
import { Player } from "./sound.js";

const SIZE = 1024;

class Listener extends AudioWorkletProcessor {
  constructor({ processorOptions: { rate } }) {
    super();
    this.block = new Float32Array(SIZE);
    this.filled = 0;
    this.player = new Player(rate, sampleRate, 0.15, 1);
    this.settings = { enhanced: true, play: false };
    this.port.onmessage = ({ data }) => {
      if (data.settings) this.settings = data.settings;
      else this.take(data);
    };
  }

  // Pairs of the original and the enhanced sound.
  take(pairs) {
    for (let i = 0; i < pairs.length; i += 2) {
      this.player.put([pairs[i], pairs[i + 1]]);
    }
  }

  process([input], [output]) {
    const size = output[0].length;
    for (let i = 0; i < size; ++i) {
      let sum = 0; // silence, once a recording is over
      for (const channel of input) sum += channel[i];
      this.block[this.filled++] = sum / Math.max(1, input.length);
      if (this.filled < SIZE) continue;
      this.port.postMessage(this.block);
      this.filled = 0;
    }
    const { enhanced, play } = this.settings;
    this.player.play(output, (pair) => play ? pair[Number(enhanced)] : 0);
    return true;
  }
}

registerProcessor("listener", Listener);
