"""What a user gains: the score of whole models against the time of a frame.

    DUSPAR_KERNEL=avx2 taskset -c 1 python benchmarks/gains.py --data DATA

Rows of `benchmarks/gains.csv` are models. Whoever trains one fills in `task`,
`model`, `budget` and `score`, the per cent of words or PESQ-WB on the test set,
and names a streaming `file`; a model without a score is a line in the figure.
Files run in turn on the recordings of the folders `kws` and `se` of DATA. Their
occupancy and microseconds per frame, the least of the rounds, go into the
table; what has no file keeps what it has. The figure is docs/gains.png. The
file "untrained GRU" is made: no weights change its time.
"""

import argparse
import csv
import functools
import os
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import matplotlib.pyplot as plt
import numpy as np
import soundfile
from inference import held
from inference import lanes
from inference import model_files
from inference import timing
from inference import trained_runs

ROOT = pathlib.Path(__file__).parent.parent
TABLE = ROOT / "benchmarks" / "gains.csv"
SCORES = {
    "kws": "accuracy in %, test of Speech Commands 0.01",
    "se": "PESQ-WB, test of VoiceBank+DEMAND",
}
UNTRAINED_GRU = "untrained GRU"
SECONDS = 4  # of recordings
SUFFIXES = (".wav", ".flac")


def read_audio(folder):
    """The first recordings of a folder, as one array."""
    paths = sorted(
        p for p in pathlib.Path(folder).rglob("*.*") if p.suffix in SUFFIXES
    )
    if not paths:
        raise SystemExit(f"`--data` must have recordings: {folder} has none.")
    found, rate = [], 16000
    for path in paths[:: max(1, len(paths) // 16)]:
        audio, rate = soundfile.read(path, dtype="float32")
        found.append(audio)
    return np.concatenate(found)[: SECONDS * rate]


def make_lane(row, data, store):
    """The lane of a row's file, or `None`."""
    if not row["file"]:
        return None
    if row["file"] == UNTRAINED_GRU:
        content = trained_runs.untrained_gru(store, row["task"])
    else:
        content = (ROOT / row["file"]).read_bytes()
    part = lanes.FilePart(content)
    audio = read_audio(pathlib.Path(data) / row["task"])
    chunks = len(audio) // part.samples
    frames = audio[: chunks * part.samples].reshape(chunks, -1)
    return lanes.Lane(row["model"], frames, [(part, 1)])


def measure(rows, data, rounds, store):
    """Fills in occupancies and times."""
    made = [(row, make_lane(row, data, store)) for row in rows]
    made = [(row, lane) for row, lane in made if lane is not None]
    figures = timing.measure([lane for _, lane in made], rounds, "least")
    for (row, _), figure in zip(made, figures):
        row["microseconds"] = f"{figure['us']:.2f}"
        if figure["occupancy"] is not None:
            row["occupancy"] = f"{100 * figure['occupancy']:.1f}"


def draw(rows, path):
    """Draws scores against times, a panel per task."""
    figure, axes = plt.subplots(1, len(SCORES), figsize=(9, 4))
    for axis, (task, label) in zip(axes, SCORES.items()):
        timed = [r for r in rows if r["task"] == task and r["microseconds"]]
        for row in timed:
            us, score = float(row["microseconds"]), row["score"]
            if not score:
                text = f"{row['model']}, not trained"
                axis.axvline(us, color="0.45", ls=":", label=text)
                continue
            # Markers of their own: colors alone do not reach every eye.
            dense = not row["occupancy"]
            mark, color = (
                ("s", "#d55e00") if row["budget"] else ("o", "#0072b2")
            )
            if dense:
                mark, color = "^", "0.25"
            axis.plot(us, float(score), mark, ms=8, color=color)
            text = row["model"].replace(", ", ",\n" if dense else ", ")
            if not dense:
                told = f"budget {row['budget']}, " if row["budget"] else ""
                text += f"\n{told}occupancy {row['occupancy']} %"
            # A GRU is on the right, and written below the others' texts.
            axis.annotate(
                text,
                (us, float(score)),
                textcoords="offset points",
                xytext=(4, -9) if dense else (8, 3),
                ha="right" if dense else "left",
                va="top" if dense else "bottom",
                fontsize=9,
            )
        axis.set_xlim(0, 1.15 * max(float(r["microseconds"]) for r in timed))
        axis.margins(y=0.45)
        axis.set_xlabel("microseconds per frame")
        axis.set_ylabel(label)
        axis.grid(alpha=0.25)
        if axis.get_legend_handles_labels()[1]:
            axis.legend(fontsize=9, frameon=False, loc="lower left")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main(arguments=None):
    """Reads the command line, measures and draws."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", help="folder (default: nothing is measured)")
    parser.add_argument("--rounds", type=int, default=51)
    parser.add_argument("--table", default=TABLE, type=pathlib.Path)
    parser.add_argument(
        "--write",
        type=pathlib.Path,
        help="the table with what was measured (default: --table)",
    )
    parser.add_argument(
        "--files",
        default=ROOT / "build" / "bench" / "files",
        help="folder of converted files (default: build/bench/files)",
    )
    parser.add_argument(
        "--out", default=ROOT / "docs" / "gains.png", help="the figure"
    )
    options = parser.parse_args(arguments)
    with options.table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    if options.data:
        held.hold_if_possible(functools.partial(print, file=sys.stderr))
        store = model_files.Files(options.files)
        measure(rows, options.data, options.rounds, store)
        with (options.write or options.table).open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    draw(rows, options.out)


if __name__ == "__main__":
    main()
