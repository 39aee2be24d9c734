"""How well the perceptual losses follow the metrics that they stand for.

    python studies/perceptual_losses.py --data FOLDER

FOLDER holds clean speech, noise and the mixtures' tables `mix_val.csv` and
`mix_test.csv`, with the columns id, clean, noise, noise_offset_samples and
snr_db. Prints the correlations of the STOI loss with pystoi and of PMSQE with
PESQ-WB, and the sizes of the gradients behind the default weights of
`keras_duspar.losses.Enhancement`.
"""

import argparse
import csv
import os
import pathlib

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import numpy as np
import soundfile
import torch

import keras_duspar
from keras_duspar.utils.audio_files import SAMPLE_RATE

FRAME, HOP = 512, 256


def read_mixtures(folder, table):
    """Yields id, clean and noisy audio of the rows of a table."""
    folder = pathlib.Path(folder)
    with open(folder / table, newline="") as file:
        for row in csv.DictReader(file):
            clean, rate = soundfile.read(folder / row["clean"])
            noise, noise_rate = soundfile.read(folder / row["noise"])
            assert rate == noise_rate == SAMPLE_RATE
            start = int(row["noise_offset_samples"])
            places = np.arange(start, start + len(clean))
            noise = np.take(noise, places, mode="wrap")
            ratio = 10 ** (float(row["snr_db"]) / 10)
            noise *= np.sqrt(np.mean(clean**2) / np.mean(noise**2) / ratio)
            yield row["id"], clean, clean + noise


def wiener(clean, noisy):
    """The mixture under an ideal Wiener mask: least squared error."""
    window = np.sqrt(np.hanning(FRAME + 1)[:-1])
    samples = len(clean)

    def spectra(audio):
        padded = np.pad(audio, (FRAME, FRAME))
        starts = np.arange(0, len(padded) - FRAME + 1, HOP)
        return np.fft.rfft(
            padded[starts[:, np.newaxis] + np.arange(FRAME)] * window
        )

    speech, noise = spectra(clean), spectra(noisy - clean)
    power, noise_power = np.abs(speech) ** 2, np.abs(noise) ** 2
    mask = power / (power + noise_power + 1e-12)
    frames = np.fft.irfft((speech + noise) * mask) * window
    audio = np.zeros(samples + 2 * FRAME)
    for i, frame in enumerate(frames):
        audio[i * HOP : i * HOP + FRAME] += frame
    return audio[FRAME : FRAME + samples]


def ranks(values):
    return np.argsort(np.argsort(values))


def correlations(values, scores):
    """Pearson's and Spearman's correlation, of what both have."""
    pearson = np.corrcoef(values, scores)[0, 1]
    spearman = np.corrcoef(ranks(values), ranks(scores))[0, 1]
    return f"Pearson {pearson:+.4f}, Spearman {spearman:+.4f}"


def raw_pesq(score):
    """P.862's score before P.862.2 maps it to an opinion score."""
    return (3.8224 - np.log(4 / (score - 0.999) - 1)) / 1.3669


def value_and_gradient_norm(loss, clean, estimate):
    estimate = torch.tensor(estimate[np.newaxis], requires_grad=True)
    value = loss(clean[np.newaxis], estimate)
    (gradient,) = torch.autograd.grad(value, estimate)
    return value.item(), torch.linalg.norm(gradient).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="folder of the mixtures")
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    torch.set_num_threads(1)
    losses = {
        "mse": keras.losses.MeanSquaredError(dtype="float64"),
        "pmsqe": keras_duspar.losses.PMSQE(dtype="float64"),
        "stoi": keras_duspar.losses.STOI(dtype="float64"),
        "si_snr": keras_duspar.losses.NegativeSISNR(dtype="float64"),
    }
    for table in ("mix_val.csv", "mix_test.csv"):
        mixtures = list(read_mixtures(options.data, table))
        scores = keras_duspar.metrics.evaluate_enhancement(
            mixtures, workers=options.workers
        )
        rows = [
            (clean, noisy, row)
            for (_, clean, noisy), row in zip(mixtures, scores["utterances"])
            if None not in row.values()
        ]
        print(f"{table}: {len(rows)} of {len(mixtures)} mixtures")
        values = {
            name: [
                float(losses[name](clean[np.newaxis], noisy[np.newaxis]))
                for clean, noisy, _ in rows
            ]
            for name in ("stoi", "pmsqe")
        }
        stoi = [row["stoi"] for *_, row in rows]
        pesq = np.array([row["pesq_wb"] for *_, row in rows])
        print("  STOI loss, pystoi:", correlations(values["stoi"], stoi))
        print("  PMSQE, PESQ-WB:   ", correlations(values["pmsqe"], pesq))
        print(
            "  PMSQE, raw PESQ:  ",
            correlations(values["pmsqe"], raw_pesq(pesq)),
        )
        for name, estimates in (
            ("noisy", [noisy for _, noisy, _ in rows]),
            ("Wiener", [wiener(clean, noisy) for clean, noisy, _ in rows]),
        ):
            for term, loss in losses.items():
                pairs = [
                    value_and_gradient_norm(loss, clean, estimate)
                    for (clean, *_), estimate in zip(rows, estimates)
                ]
                value, norm = np.median(pairs, axis=0)
                print(
                    f"  {name}, {term}: value {value:.3g}, norm of the "
                    f"gradient {norm:.3g} (medians)"
                )


if __name__ == "__main__":
    main()
