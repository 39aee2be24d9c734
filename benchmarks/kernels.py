"""Time of a step in the native library, by kernel, weights and occupancy.

    python benchmarks/kernels.py
    DUSPAR_KERNEL=avx2 python benchmarks/kernels.py --stack KWS --rounds 301
    python benchmarks/kernels.py --instructions

Stacks of layers as in the paper's models, and single layers, take turns at
random occupancies with a dense GRU of as many parameters that was written
with the same vectors, in float32 and in int8. Beside the times stands how fast
weights are read, and how fast plain loops read memory of that size. Built with
CMake and a C compiler; best run alone on one core (`taskset -c 1`). With
`--instructions` valgrind counts instructions instead, which are the same on a
busy machine; it knows AVX2 and not AVX-512. Tables and figures are written to
`OUT/kernels.md` and `OUT/kernels.json`.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parent.parent
COUNTED = "duspar_bench_counted"
STEPS = 64  # that function's
COUNTABLE = ("avx2", "portable")  # valgrind knows no AVX-512


def build(target="bench_kernels"):
    """Builds a program or library of `tflite/benchmarks`.

    Returns:
        The path of the folder that it lies in.
    """
    cmake = shutil.which("cmake") or pathlib.Path(sys.executable).with_name(
        "cmake"
    )
    folder = ROOT / "build" / "bench" / "cmake"
    for command in (
        [cmake, "-S", ROOT / "tflite", "-B", folder, "-DDUSPAR_BENCHMARKS=ON"],
        [cmake, "--build", folder, "--target", target],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise OSError(f"{cmake} failed: {done.stderr[-2000:]}")
    return folder / "benchmarks"


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


def markdown(header, rows):
    """A table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def stacks_of(figures):
    """Figures by stack, by row of its table, and by occupancy or "GRU"."""
    stacks = collections.defaultdict(dict)
    for f in figures:
        if "stack" in f:
            row = (f["kernel"], f["weights"], f["operands"])
            column = "GRU" if f["model"] == "GRU" else f["asked"]
            stacks[f["stack"]].setdefault(row, {})[column] = f
    return stacks


def dense_gru(rows, row):
    """The GRU that a row is compared with: of floats, or of int8."""
    kernel, weights, _ = row
    same = ("int8", "uint8") if weights == "int8" else ("float32", "float32")
    return rows.get((kernel, *same), {}).get("GRU")


def read_at(reads, size):
    """Bytes a nanosecond at which so much memory is read."""
    if not reads:
        return None
    return min(reads, key=lambda f: abs(f["read"] - size))["gb_per_second"]


def time_tables(figures, statistic="median"):
    """How fast memory is read, then a table for each stack."""
    if statistic == "least":
        figures = [{**f, "ns": f.get("least_ns")} for f in figures]
    reads = [f for f in figures if "read" in f]
    parts = []
    if reads:
        rows = [
            (f"{f['read'] >> 10:,}", str(f["gb_per_second"]), str(f["most"]))
            for f in reads
        ]
        parts.append(markdown(("KB", "GB/s read, median", "most"), rows))
    for name, rows in stacks_of(figures).items():
        asked = sorted({c for r in rows.values() for c in r if c != "GRU"})
        header = [name, "weights", "operands"]
        header += [f"{100 * o:.0f} %" for o in asked]
        header += ["50 / 100 %", "GRU", "GRU / 50 %", "GB/s at 100 %"]
        header += ["of plain reading", "GB/s at 50 %"]
        lines = []
        for row, found in rows.items():
            gru = dense_gru(rows, row)
            half, full = found[0.5], found[1]
            speed = full["bytes"] / full["ns"]
            plain = read_at(reads, full["bytes"])
            lines.append(
                [
                    *row,
                    *(f"{found[o]['ns'] / 1000:.2f}" for o in asked),
                    f"{half['ns'] / full['ns']:.2f}",
                    f"{gru['ns'] / 1000:.2f}" if gru else "",
                    f"{gru['ns'] / half['ns']:.2f}" if gru else "",
                    f"{speed:.0f}",
                    f"{100 * speed / plain:.0f} %" if plain else "",
                    f"{half['bytes'] * half['occupancy'] / half['ns']:.0f}",
                ]
            )
        parts.append(markdown(header, lines))
    about = f"Microseconds per step, {statistic} of the rounds."
    return "\n\n".join([about, *parts]) + "\n"


def count(program, stack, kernel):
    """Figures with the instructions of a step, counted by valgrind."""
    if shutil.which("valgrind") is None:
        raise SystemExit("`--instructions` needs valgrind.")
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind"
        command = [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={out}",
            f"--toggle-collect={COUNTED}",
            f"--dump-after={COUNTED}",
            program,
            "0",
            stack or "KWS",
            kernel,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        figures = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode or not figures:
            raise SystemExit(done.stderr[-2000:] or "Nothing was counted.")
        for i, figure in enumerate(figures):
            text = out.with_name(f"{out.name}.{i + 1}").read_text()
            total = int(re.search(r"^totals: (\d+)", text, re.MULTILINE)[1])
            figure["instructions"] = total / STEPS
            for name in ("ns", "least_ns"):
                del figure[name]
    return figures


def instruction_tables(figures):
    """A table of instructions for each stack."""
    parts = []
    for name, rows in stacks_of(figures).items():
        asked = sorted({c for r in rows.values() for c in r if c != "GRU"})
        header = [name, "weights", "operands"]
        header += [f"{100 * o:.0f} %" for o in asked]
        header += ["50 / 100 %", "GRU", "GRU / 50 %"]
        lines = []
        for row, found in rows.items():
            gru = dense_gru(rows, row)
            half, full = (found[o]["instructions"] for o in (0.5, 1))
            lines.append(
                [
                    *row,
                    *(f"{found[o]['instructions']:,.0f}" for o in asked),
                    f"{half / full:.2f}",
                    f"{gru['instructions']:,.0f}" if gru else "",
                    f"{gru['instructions'] / half:.2f}" if gru else "",
                ]
            )
        parts.append(markdown(header, lines))
    return "Instructions per step.\n\n" + "\n\n".join(parts) + "\n"


def main(arguments=None):
    """Reads the command line, prints tables and writes them."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument(
        "--statistic",
        choices=("median", "least"),
        default="median",
        help="what tables tell of the rounds (default: median); the least is "
        "what a busy machine disturbs least",
    )
    parser.add_argument("--stack", help="such as KWS, SE or 128-128")
    parser.add_argument(
        "--kernel",
        default=os.environ.get("DUSPAR_KERNEL"),
        help="such as avx2 (default: DUSPAR_KERNEL, or all)",
    )
    parser.add_argument(
        "--instructions",
        action="store_true",
        help="count instructions (default: of KWS)",
    )
    parser.add_argument("--out", default="build/bench", help="folder")
    options = parser.parse_args(arguments)
    program = build() / "bench_kernels"
    if options.instructions:
        kernels = [options.kernel] if options.kernel else COUNTABLE
        figures = [
            figure
            for kernel in kernels
            for figure in count(program, options.stack, kernel)
        ]
        name, text = "instructions", instruction_tables(figures)
    else:
        figures = measure(
            program, options.rounds, options.stack, options.kernel
        )
        name, text = "kernels", time_tables(figures, options.statistic)
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps(figures, indent=1))
    (out / f"{name}.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
