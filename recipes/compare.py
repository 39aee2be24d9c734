"""Compares runs: a table, means over seeds, and a page with the curves.

    python recipes/compare.py runs/kws-*
    python recipes/compare.py runs/kws-* --html compare.html

Runs that differ in nothing but their seed share a row.
"""

import argparse
import json
import pathlib
import statistics
import sys

import startup  # noqa: F401 - before Keras is imported

# isort: split
from training import report

# Column to the figure of a result.json, and how it is written.
COLUMNS = {
    "kws": {"accuracy %": (("test", "accuracy"), 100, 2)},
    "slu": {"accuracy %": (("test", "accuracy"), 100, 2)},
    "se": {
        "PESQ-WB": (("test", "pesq_wb", "enhanced"), 1, 3),
        "STOI %": (("test", "stoi", "enhanced"), 100, 2),
        "SI-SDR dB": (("test", "si_sdr", "enhanced"), 1, 2),
    },
}
COST = {
    "occupancy %": (("occupancy",), 100, 1),
    "effective M MAC/s": (("effective_macs",), 1e-6, 3),
}


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", nargs="+", help="folders of finished runs")
    parser.add_argument("--html", help="file of a page to write, too")
    options = parser.parse_args(arguments)
    results = []
    for folder in options.runs:
        path = pathlib.Path(folder) / "result.json"
        if not path.is_file():
            print(
                f"compare.py: `runs` must be folders of finished runs. "
                f"Received: {folder}, which has no result.json.",
                file=sys.stderr,
            )
            return 1
        results.append(json.loads(path.read_text(encoding="utf-8")))
    for task in dict.fromkeys(result["task"] for result in results):
        print(table([r for r in results if r["task"] == task]))
    if options.html:
        print(report.compare(options.runs, options.html))
    return 0


def table(results):
    """A Markdown table of the results of one task."""
    columns = {**COLUMNS[results[0]["task"]], **COST}
    groups = {}
    for result in results:
        key = tuple(result[k] for k in ("model", "units", "data", "epochs"))
        groups.setdefault((*key, scheme(result)), []).append(result)
    # A column of its own only where there is something to tell.
    quantized = any(map(scheme, results))
    first = ["layer", "units", *["quantised"] * quantized]
    rows = [(*first, "parameters", "runs", *columns)]
    rows.append(("---",) * len(rows[0]))
    if results[0]["task"] == "se":
        noisy = [
            _text(results[:1], (*path[:-1], "noisy"), scale, digits)
            for path, scale, digits in COLUMNS["se"].values()
        ]
        empty = ["-"] * (len(first) + 1)
        rows.append(("noisy input", *empty, *noisy, *["-"] * 2))
    for (model, units, *_, kind), group in groups.items():
        first = [model, str(units), *[kind or "-"] * quantized]
        first += [f"{group[0]['parameters']:,}", str(len(group))]
        figures = [_text(group, *column) for column in columns.values()]
        rows.append((*first, *figures))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def scheme(result):
    """The scheme that a run was quantised by, or `None`."""
    # The last row is that of the model which was trained by it.
    rows = result.get("quantization")
    return rows[-1]["name"].partition(",")[0] if rows else None


def _text(results, path, scale, digits):
    """Mean of a figure over runs, with its deviation if there are some."""
    values = []
    for result in results:
        for key in path:
            result = result[key]
        values.append(result * scale)
    text = f"{statistics.mean(values):.{digits}f}"
    if len(values) > 1:
        text += f" ± {statistics.stdev(values):.{digits}f}"
    return text


if __name__ == "__main__":
    sys.exit(main())
