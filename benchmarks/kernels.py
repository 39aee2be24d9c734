"""Time of a step in the native library, by kernel, weights and occupancy.

    python benchmarks/kernels.py
    python benchmarks/kernels.py --stack KWS --kernel avx2 --rounds 301
    python benchmarks/kernels.py --instructions

Stacks of layers as in the paper's models, and single layers, take turns at
random occupancies with a dense GRU of as many parameters that was written
with the same vectors. Built with CMake and a C compiler; best run alone on
one core (`taskset -c 0`). With `--instructions` valgrind counts instructions
instead, which is the same on a busy machine.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys

from keras_duspar.profiling import text_table

ROOT = pathlib.Path(__file__).parent.parent


def build():
    """Builds the program and returns its path."""
    cmake = shutil.which("cmake") or pathlib.Path(sys.executable).with_name(
        "cmake"
    )
    folder = ROOT / "build" / "bench" / "cmake"
    for command in (
        [cmake, "-S", ROOT / "tflite", "-B", folder, "-DDUSPAR_BENCHMARKS=ON"],
        [cmake, "--build", folder],
    ):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "benchmarks" / "bench_kernels"


def measure(program, rounds, stack, kernel):
    """The figures that the program prints, as dictionaries."""
    command = [program, str(rounds), stack or "", *([kernel] if kernel else [])]
    found = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout:
            found.append(json.loads(line))
            if "stack" in found[-1]:
                print(".", end="", flush=True, file=sys.stderr)
    print(file=sys.stderr)
    if run.returncode:
        raise SystemExit(f"{program} failed.")
    return found


def tables(figures):
    """Prints how fast memory is read, then one table for each stack."""
    reads = [f for f in figures if "read" in f]
    if reads:
        rows = [
            (str(f["read"] >> 10), str(f["gb_per_second"]), str(f["most"]))
            for f in reads
        ]
        print(text_table(("KB", "GB/s read", "most"), rows))
    stacks = collections.defaultdict(dict)
    for f in figures:
        if "stack" in f:
            row = (f["kernel"], f["weights"], f["operands"])
            column = "GRU" if f["model"] == "GRU" else f["asked"]
            stacks[f["stack"]].setdefault(row, {})[column] = f
    for name, rows in stacks.items():
        asked = sorted({c for r in rows.values() for c in r if c != "GRU"})
        header = [name, "weights", "operands"]
        header += [f"{100 * o:.0f} %" for o in asked]
        header += ["50 / 100 %", "GRU", "GRU / 50 %", "GB/s at 100 %"]
        lines = []
        for row, found in rows.items():
            gru = rows.get((row[0], "float32", "float32"), {}).get("GRU")
            half, full = found[0.5]["ns"], found[1]["ns"]
            lines.append(
                [
                    *row,
                    *(f"{found[o]['ns'] / 1000:.2f}" for o in asked),
                    f"{half / full:.2f}",
                    f"{gru['ns'] / 1000:.2f}" if gru else "-",
                    f"{gru['ns'] / half:.2f}" if gru else "-",
                    f"{found[1]['bytes'] / full:.0f}",
                ]
            )
        print(f"\nMicroseconds a step, median\n{text_table(header, lines)}")


def instructions(program, stack, kernel):
    """Counts the instructions of one round with valgrind."""
    if shutil.which("valgrind") is None:
        raise SystemExit("`--instructions` needs valgrind.")
    command = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        "--toggle-collect=duspar_layer_execute",
        program,
        "1",
        stack or "KWS",
        kernel or "avx2",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise SystemExit(done.stderr[-2000:])
    steps = sum(1 for _ in done.stdout.splitlines())
    print(f"{int(found[1]):,} instructions in layers, {steps} figures")


def main():
    """Reads the command line and prints tables."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--stack", help="such as KWS, SE or 128-128")
    parser.add_argument("--kernel", help="such as avx2")
    parser.add_argument("--instructions", action="store_true")
    args = parser.parse_args()
    program = build()
    if args.instructions:
        instructions(program, args.stack, args.kernel)
        return
    tables(measure(program, args.rounds, args.stack, args.kernel))


if __name__ == "__main__":
    main()
