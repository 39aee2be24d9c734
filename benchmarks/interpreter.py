"""How long is a frame: sparse operators in LiteRT, beside everything else.

    python benchmarks/interpreter.py
    python benchmarks/interpreter.py --run runs/kws-duspar-128 data/kws
    python benchmarks/interpreter.py --quick --out build/bench-quick

One process, one thread, one frame per call. DuSpaR as `.tflite` files with
sparse operators, in all types of weights and at six occupancies, takes turns
with LiteRT's GRU and LSTM of as many parameters, DuSpaR of built-in operators,
our own dense GRU in C, ONNX Runtime, torch and RNNoise, as far as they are
installed (`pip install keras-duspar[bench]`). In every turn of 64 frames the
time of the call itself is taken, without copies; a figure is the median over
the rounds with its quartiles. Written are tables (`interpreter.md`), all
figures (`interpreter.json`) and plots. Files are converted once and kept in
`--files`. `DUSPAR_KERNEL=avx2` holds our kernels to AVX2, and LiteRT, too.

Best run alone on one core: `taskset -c 1 nice -n -15 python ...`.
"""

import argparse
import json
import os
import pathlib
import shlex
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import kernels
from inference import doc_tables
from inference import figures
from inference import held
from inference import lanes
from inference import model_files
from inference import peers
from inference import stacks
from inference import timing
from inference import trained_runs

from keras_duspar import native


def log(text):
    """Says what goes on."""
    print(text, file=sys.stderr, flush=True)


def dense_library(log):
    """The path of the library of dense kernels, or `None`."""
    try:
        (path,) = kernels.build("bench_grus").glob("libbench_grus.*")
        return path
    except OSError as e:
        log(f"left out: our own dense GRU ({e})")
        return None


def parse_arguments(arguments=None):
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--out", default="build/bench", help="folder (default: build/bench)"
    )
    parser.add_argument(
        "--files",
        help="folder of converted files, which all kernels may share "
        "(default: OUT/files)",
    )
    parser.add_argument(
        "--rounds", type=int, help="turns of each (default: 51)"
    )
    parser.add_argument(
        "--statistic",
        choices=timing.STATISTICS,
        default="median",
        help="what is reported of the turns (default: median); the least is "
        "what a busy machine disturbs least",
    )
    parser.add_argument(
        "--stack",
        action="append",
        metavar="NAME",
        choices=[s.name for s in stacks.STACKS],
        help="such as KWS or 512-512; may be given several times "
        "(default: all)",
    )
    parser.add_argument(
        "--run",
        nargs=2,
        action="append",
        default=[],
        metavar=("RUN", "DATA"),
        help="a trained model's folder and a folder of recordings for it; "
        "may be given several times",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small layers and few rounds, to see that all of it works",
    )
    return parser.parse_args(arguments)


class Bench:
    """Makes lanes and measures them, as the options say.

    Args:
        options: The command line's.
    """

    def __init__(self, options):
        self.quick, self.statistic = options.quick, options.statistic
        self.rounds = options.rounds or (3 if options.quick else 51)
        self.formats = model_files.FORMATS[:: 3 if options.quick else 1]
        self.occupancies = stacks.OCCUPANCIES
        if options.quick:
            self.occupancies = (0.28, 0.5, 1.0)
        folder = options.files or pathlib.Path(options.out) / "files"
        store = model_files.Files(folder)
        self.peers = peers.Peers(store, dense_library(log), log)

    def measure(self, lanes, large=False):
        """Figures; large layers take long, and get a third of the turns."""
        rounds = max(3, self.rounds // 3) if large else self.rounds
        lanes = [self.peers.empty(), *lanes]
        return timing.measure(lanes, rounds, self.statistic)

    def stacks(self, chosen):
        """Figures of stacks of random weights, by name."""
        found = {}
        for stack in chosen:
            log(stack.name)
            turns = self.peers.sparse(stack, self.formats, self.occupancies)
            turns += self.peers.opponents(stack)
            large = stack.parameters("DuSpaR") > 500_000
            found[stack.name] = self.measure(turns, large)
        return found

    def trained(self, runs):
        """Figures of trained models: of recurrent layers, and of the whole."""
        layers, whole = {}, {}
        for run, data in runs:
            log(run)
            model = trained_runs.Trained(run, data)
            name = f"{model.task}, {pathlib.Path(run).name}"
            turns = model.sparse(self.peers, self.formats)
            turns += [] if self.quick else self.peers.opponents(model.stack)
            layers[name] = self.measure(turns)
            whole[name] = self.measure(
                trained_runs.whole_lanes(
                    self.peers,
                    model.task,
                    self.formats,
                    model.model,
                    model.audio,
                    model.name,
                )
            )
        return layers, whole

    def whole(self):
        """Figures of the paper's models, untrained, and of RNNoise."""
        found = {}
        for task in trained_runs.BUILDERS:
            log(f"{task}, whole")
            turns = trained_runs.whole_lanes(self.peers, task, self.formats)
            if task == "se":
                turns += self.peers.attempt(
                    "RNNoise", lanes.RNNoise, runtime="C", seconds=0.01
                )
            found[f"{task}, untrained"] = self.measure(turns)
        return found


def main(arguments=None):
    """Measures, and writes tables, figures and plots."""
    options = parse_arguments(arguments)
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    held_to_kernel = held.hold_if_possible(log)
    bench = Bench(options)
    chosen = stacks.SMALL if options.quick else stacks.STACKS
    if options.stack:
        chosen = [s for s in stacks.STACKS if s.name in options.stack]
    result = {
        "about": doc_tables.surroundings(
            command=shlex.join(["python", *sys.argv]),
            kernel=native.kernels()[0],
            held=held_to_kernel,
            rounds=bench.rounds,
            statistic=bench.statistic,
        ),
        "parameters": {s.name: s.parameters("DuSpaR") for s in chosen},
        "stacks": bench.stacks(chosen),
    }
    result["trained"], result["whole"] = bench.trained(options.run)
    if not options.quick:
        result["whole"] |= bench.whole()
    result["missing"] = bench.peers.missing
    (out / "interpreter.json").write_text(json.dumps(result, indent=1))
    (out / "interpreter.md").write_text(doc_tables.page(result))
    figures.by_occupancy(result["stacks"], out / "occupancy.png")
    figures.by_size(result["stacks"], result["parameters"], out / "sizes.png")
    print(doc_tables.page(result))
    log(f"written to {out}")


if __name__ == "__main__":
    main()
