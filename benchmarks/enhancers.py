"""Scores of enhancers on one test set, beside RNNoise.

    python benchmarks/enhancers.py --data FOLDER
    python benchmarks/enhancers.py --data FOLDER --model a.tflite --count 60

FOLDER is VoiceBank+DEMAND or has mixtures (`recipes/datasets/README.md`);
models are presets or `.tflite` files, by default the presets that enhance. A
model that has only learned from one set tells on another what it is worth.
RNNoise is that of `pip install --no-deps pyrnnoise`, whose delay is taken out;
it hears 48 kHz. The table goes to the standard output.
"""

import argparse
import ctypes
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "recipes"))

import numpy as np
import soxr
from inference import doc_tables
from inference import lanes

from datasets import sources
from datasets.enhancement_batches import EnhancementBatches
from keras_duspar import metrics
from keras_duspar import models
from keras_duspar import tflite
from keras_duspar.utils.audio_files import SAMPLE_RATE

RATE, FRAME = 48000, 480  # of RNNoise
FORMATS = {"pesq_wb": "{:.3f}", "stoi": "{:.3f}", "si_sdr": "{:.2f}"}


def presets():
    """Names of the presets that enhance."""
    cards = {name: models.preset_card(name) for name in models.presets()}
    return [name for name, card in cards.items() if card["task"] == "se"]


def rnnoise(audio):
    """What RNNoise makes of 16 kHz audio, as long and in time with it."""
    process, state = lanes.open_rnnoise()
    loud = 32768 * soxr.resample(audio, SAMPLE_RATE, RATE, quality="HQ")
    # It gives out what it heard two frames before.
    frames = np.pad(loud, (0, -len(loud) % FRAME + 2 * FRAME))
    frames = frames.astype("float32").reshape(-1, FRAME)
    out = np.zeros_like(frames)
    for frame, to in zip(frames, out):
        process(
            state,
            *(ctypes.c_void_p(part.ctypes.data) for part in (to, frame)),
        )
    late = delay(loud, out.ravel())
    clean = soxr.resample(
        out.ravel()[late:] / 32768, RATE, SAMPLE_RATE, quality="HQ"
    )
    clean = clean[: len(audio)]
    return np.pad(clean, (0, len(audio) - len(clean))).astype("float32")


def delay(heard, out):
    """By how many samples `out` is behind `heard`, at most two frames."""
    size = 1 << (len(out) + len(heard)).bit_length()
    spectra = (np.fft.rfft(part, size) for part in (out, heard))
    behind = np.fft.irfft(next(spectra) * np.conj(next(spectra)), size)
    return int(behind[: 2 * FRAME + 1].argmax())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="\n\n".join(__doc__.split("\n\n")[1:]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", required=True)
    parser.add_argument(
        "--split", choices=("validation", "test"), default="test"
    )
    parser.add_argument("--model", action="append")
    parser.add_argument("--count", type=int, help="utterances, spread evenly")
    options = parser.parse_args()
    data = sources.load("se", options.data)
    batches = EnhancementBatches(data, options.split, 1)
    total = len(batches.items)
    chosen = np.arange(total)
    if options.count:
        chosen = np.unique(np.linspace(0, total - 1, options.count).astype(int))
    pairs = [batches.utterance(i) for i in chosen]
    enhancers = {"noisy": lambda noisy: noisy}
    try:
        lanes.open_rnnoise()
        enhancers["RNNoise"] = rnnoise
    except ImportError:
        print("RNNoise is left out: pip install --no-deps pyrnnoise")
    for name in options.model or presets():
        runner = tflite.load(name)
        enhancers[name] = lambda noisy, run=runner: run(noisy[None])[0]
    rows = []
    for name, enhance in enhancers.items():
        scores = metrics.evaluate_enhancement(
            [(clean, enhance(noisy)) for noisy, clean in pairs]
        )
        rows.append(
            [name, *(form.format(scores[m]) for m, form in FORMATS.items())]
        )
        print(*rows[-1], flush=True)
    print(f"\n{data.name}, {options.split}, {len(pairs)} of {total}\n")
    print(doc_tables.markdown(["", "PESQ-WB", "STOI", "SI-SDR dB"], rows))


if __name__ == "__main__":
    main()
