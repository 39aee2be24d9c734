"""How long is a frame: sparse operators in LiteRT, beside everything else.

    python benchmarks/interpreter.py
    python benchmarks/interpreter.py --run runs/kws-duspar-128 data/kws
    python benchmarks/interpreter.py --quick --out build/bench-quick

One process, one thread, one frame a call. DuSpaR as `.tflite` files with
sparse operators, in all types of weights and at six occupancies, takes turns
with LiteRT's GRU and LSTM of as many parameters, DuSpaR of built-in operators,
our own dense GRU in C, ONNX Runtime, torch and RNNoise, as far as they are
installed (`pip install keras-duspar[bench]`). In every turn of 64 frames the
time of the call itself is taken, without copies; a figure is the median over
the rounds with its quartiles. Written are tables (`interpreter.md`), all
figures (`interpreter.json`) and plots. Files are converted once and kept in
`OUT/files`.

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
from inference import files
from inference import lanes
from inference import peers
from inference import plots
from inference import report
from inference import stacks
from inference import timing
from inference import trained

from keras_duspar import native


def log(text):
    """Says what goes on."""
    print(text, file=sys.stderr, flush=True)


def dense_library(log):
    """The path of the library of dense kernels, or `None`."""
    try:
        return kernels.build().with_name("libbench_grus.so")
    except (OSError, SystemExit) as e:
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
        "--rounds", type=int, help="turns of each (default: 51)"
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
        "--no-whole", action="store_true", help="leave out whole models"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small layers and few rounds, to see that all of it works",
    )
    return parser.parse_args(arguments)


def measure_stacks(makers, chosen, rounds, quick):
    """Figures of stacks of random weights, by name."""
    found = {}
    occupancies = (0.25, 0.5, 1.0) if quick else stacks.OCCUPANCIES
    for stack in chosen:
        log(stack.name)
        turns = makers.all(stack, occupancies=occupancies)
        # Large layers take long, and vary less.
        large = stack.parameters("DuSpaR") > 500_000
        found[stack.name] = timing.measure(
            turns, rounds // 3 if large else rounds
        )
    return found


def measure_trained(makers, runs, rounds):
    """Figures of trained models: of recurrent layers, and of the whole."""
    layers, whole = {}, {}
    for run, data in runs:
        log(run)
        model = trained.Trained(run, data)
        name = f"{model.task}, {pathlib.Path(run).name}"
        turns = [makers.empty(), *model.sparse(makers, files.FORMATS)]
        turns += makers.opponents(model.stack)
        layers[name] = timing.measure(turns, rounds)
        turns = trained.whole_lanes(
            makers, model.task, model.model, model.audio, model.name
        )
        whole[name] = timing.measure([makers.empty(), *turns], rounds)
    return layers, whole


def main(arguments=None):
    """Measures, and writes tables, figures and plots."""
    options = parse_arguments(arguments)
    out = pathlib.Path(options.out)
    rounds = options.rounds or (3 if options.quick else 51)
    chosen = stacks.SMALL if options.quick else stacks.STACKS
    if options.stack:
        chosen = [s for s in stacks.STACKS if s.name in options.stack]
    makers = peers.Peers(files.Files(out / "files"), dense_library(log), log)
    result = {
        "about": report.surroundings(
            shlex.join(["python", "benchmarks/interpreter.py", *sys.argv[1:]]),
            native.kernels()[0],
        ),
        "parameters": {s.name: s.parameters("DuSpaR") for s in chosen},
        "stacks": measure_stacks(makers, chosen, rounds, options.quick),
    }
    result["trained"], result["whole"] = measure_trained(
        makers, options.run, rounds
    )
    if not options.no_whole and not options.quick:
        for task in trained.BUILDERS:
            log(f"{task}, whole")
            turns = [makers.empty(), *trained.whole_lanes(makers, task)]
            if task == "se":
                turns += makers.attempt(
                    "RNNoise", lanes.RNNoise, runtime="C", seconds=0.01
                )
            result["whole"][f"{task}, untrained"] = timing.measure(
                turns, rounds
            )
    result["missing"] = makers.missing
    out.mkdir(parents=True, exist_ok=True)
    (out / "interpreter.json").write_text(json.dumps(result, indent=1))
    (out / "interpreter.md").write_text(report.page(result))
    plots.by_occupancy(result["stacks"], out / "occupancy.png")
    plots.by_size(result["stacks"], result["parameters"], out / "sizes.png")
    print(report.page(result))
    log(f"written to {out}")


if __name__ == "__main__":
    main()
