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
busy machine; it knows AVX2 and not AVX-512. Those of ARM's kernels are counted
on QEMU (Debian's qemu-user and gcc-aarch64-linux-gnu). Tables and figures are
written to `OUT/kernels.md` and `OUT/kernels.json`.
"""

import argparse
import collections
import functools
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
END = "duspar_bench_end"  # runs next
STEPS = 64  # of the former
COUNTABLE = ("avx2", "portable")  # valgrind knows no AVX-512
EMULATED = ("neon", "neon_dotprod", "neon_fp16")


def build(target="bench_kernels", name="cmake", options=()):
    """Builds a program or library of `tflite/benchmarks`.

    Args:
        target: String.
        name: String, the folder of the build.
        options: Strings, further options of CMake.

    Returns:
        The path of the folder that it lies in.
    """
    cmake = shutil.which("cmake") or pathlib.Path(sys.executable).with_name(
        "cmake"
    )
    folder = ROOT / "build" / "bench" / name
    configure = [cmake, "-S", ROOT / "tflite", "-B", folder]
    run([*configure, "-DDUSPAR_BENCHMARKS=ON", *options])
    run([cmake, "--build", folder, "--target", target])
    return folder / "benchmarks"


def run(command):
    """Runs a program; returns what it did, or raises what it said."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{command[0]} failed: {done.stderr[-2000:]}")
    return done


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


def count(stack, kernel):
    """Figures with the instructions of a step."""
    counted = count_by_qemu if kernel in EMULATED else count_by_valgrind
    printed, counts = counted(["0", stack or "KWS", kernel])
    figures = [json.loads(line) for line in printed.splitlines()]
    if not figures or len(figures) != len(counts):
        raise SystemExit(
            "`kernel` must be one that runs here, and `stack` one of "
            "tflite/benchmarks/kernels.c. Received: "
            f"kernel={kernel}, stack={stack}."
        )
    for figure, total in zip(figures, counts):
        figure["instructions"] = total / STEPS
        for name in ("ns", "least_ns"):
            del figure[name]
    return figures


def count_by_valgrind(arguments):
    """What the program prints, and the instructions of each line of it."""
    if shutil.which("valgrind") is None:
        raise SystemExit("`--instructions` needs valgrind.")
    program = build() / "bench_kernels"
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind"
        command = [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={out}",
            f"--toggle-collect={COUNTED}",
            f"--dump-after={COUNTED}",
            program,
            *arguments,
        ]
        done = run(command)
        parts = sorted(
            out.parent.glob(f"{out.name}.*"), key=lambda p: int(p.suffix[1:])
        )
        texts = [part.read_text() for part in parts]
    totals = (re.search(r"^totals: (\d+)", t, re.MULTILINE) for t in texts)
    # The last part is what follows the last call.
    counts = [int(total[1]) for total in totals if total]
    return done.stdout, counts[: len(done.stdout.splitlines())]


@functools.cache
def build_for_qemu():
    """The program for ARM, and the command that counts in QEMU."""
    tools = ("qemu-aarch64", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-nm")
    missing = [tool for tool in tools if shutil.which(tool) is None]
    compiler = shutil.which("cc") or shutil.which("gcc")
    if missing or compiler is None:
        raise SystemExit(
            f"`kernel` needs {', '.join(missing) or 'a C compiler'} to be "
            "counted: Debian's qemu-user and gcc-aarch64-linux-gnu."
        )
    folder = build(
        name="cmake-aarch64",
        options=(
            "-DCMAKE_SYSTEM_NAME=Linux",
            "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
            f"-DCMAKE_C_COMPILER={tools[1]}",
            "-DCMAKE_EXE_LINKER_FLAGS=-static",
        ),
    )
    plugin = folder / "libcount.so"
    source = ROOT / "tflite" / "benchmarks" / "count_plugin.c"
    run([compiler, "-O2", "-shared", "-fPIC", source, "-o", plugin])
    program = folder / "bench_kernels"
    symbols = run([tools[2], program]).stdout.splitlines()
    places = {line.split()[-1]: line.split()[0] for line in symbols}
    between = f"from=0x{places[COUNTED]},to=0x{places[END]}"
    return [tools[0], "-plugin", f"{plugin},{between}", program]


def count_by_qemu(arguments):
    """What the program prints on ARM, and the instructions of each line."""
    done = run([*build_for_qemu(), *arguments])
    found = re.findall(r"^instructions (\d+)$", done.stderr, re.MULTILINE)
    return done.stdout, [int(total) for total in found]


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
    if options.instructions:
        kernels = [options.kernel] if options.kernel else COUNTABLE
        figures = [
            figure
            for kernel in kernels
            for figure in count(options.stack, kernel)
        ]
        name, text = "instructions", instruction_tables(figures)
    else:
        program = build() / "bench_kernels"
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
