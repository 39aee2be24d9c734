"""Tables for the docs, of the figures of `benchmarks/interpreter.py`."""

import datetime
import importlib.metadata
import platform

from inference.timing import ratio
from keras_duspar.utils.tables import percent

PACKAGES = (
    "keras-duspar",
    "keras",
    "tensorflow",
    "ai-edge-litert",
    "onnxruntime",
    "torch",
    "pyrnnoise",
    "numpy",
)


def surroundings(**more):
    """Machine, versions and date, as a dictionary."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "date": datetime.date.today().isoformat(),
        "machine": platform.machine(),
        "processor": processor(),
        "python": platform.python_version(),
        "versions": versions,
        **more,
    }


def processor():
    """What the system calls the processor."""
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor()


def markdown(header, rows):
    """A table; `None` stands for nothing."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        "| " + " | ".join("" if c is None else str(c) for c in line) + " |"
        for line in lines
    )


def find(figures, **wanted):
    """The first lane with these labels, or `None`."""
    for f in figures:
        if all(f.get(k) == v for k, v in wanted.items()):
            return f
    return None


def sparse_lanes(figures, **wanted):
    """Lanes of sparse operators with these labels."""
    wanted["runtime"] = "LiteRT, sparse"
    return [f for f in figures if all(f.get(k) == v for k, v in wanted.items())]


def reference(figures, weights):
    """What an opponent with such weights is compared with: at 50 %."""
    if weights == "float32":
        found = sparse_lanes(figures, weights="float32")
    else:
        found = sparse_lanes(figures, weights="int8", operands="uint8")
    half = [f for f in found if f.get("asked") in (None, 0.5)]
    return (half or found)[0] if found else None


def times(value, low, high):
    """A ratio with its spread."""
    return f"{value:.2f} ({low:.2f}-{high:.2f})"


def occupancy_table(results):
    """Microseconds of DuSpaR by stack, format and occupancy."""
    asked = sorted(
        {f["asked"] for fs in results.values() for f in fs if "asked" in f}
    )
    header = ["stack", "weights", "operands"]
    header += [f"{o:.0%}" for o in asked] + [
        "50 % / 100 %",
        "without `invoke()`",
    ]
    rows = []
    for name, figures in results.items():
        empty = find(figures, name="empty file")
        formats = dict.fromkeys(
            (f["weights"], f["operands"]) for f in sparse_lanes(figures)
        )
        for weights, operands in formats:
            by = {
                f["asked"]: f
                for f in sparse_lanes(
                    figures, weights=weights, operands=operands
                )
            }
            row = [name, weights, operands]
            row += [f"{by[o]['us']:.2f}" if o in by else None for o in asked]
            ends = by.get(0.5), by.get(1.0)
            if all(ends):
                row.append(times(*ratio(*ends)))
                row.append(f"{ratio(*ends, less=empty)[0]:.2f}")
            rows.append(row)
            name = ""
    return markdown(header, rows)


def opponents(figures):
    """All lanes that are neither sparse nor empty."""
    return [
        f
        for f in figures
        if f["name"] != "empty file" and f["runtime"] != "LiteRT, sparse"
    ]


def opponent_tables(results):
    """Microseconds of opponents, and how many times DuSpaR's they are."""
    names = list(
        dict.fromkeys(
            f["name"] for fs in results.values() for f in opponents(fs)
        )
    )
    stacks = list(results)
    clock, ratios = [], []
    for label, weights, operands in (
        ("DuSpaR sparse float32, 50 %", "float32", "float32"),
        ("DuSpaR sparse int8, 8-bit operands, 50 %", "int8", "uint8"),
    ):
        row = [label]
        for figures in results.values():
            found = sparse_lanes(
                figures, weights=weights, operands=operands, asked=0.5
            )
            row.append(f"{found[0]['us']:.2f}" if found else None)
        clock.append(row)
    empty = ["(an empty file)"]
    for figures in results.values():
        empty.append(f"{find(figures, name='empty file')['us']:.2f}")
    for name in names:
        row, times_row = [name], [name]
        for figures in results.values():
            f = find(figures, name=name)
            if f is None:
                row.append(None)
                times_row.append(None)
                continue
            row.append(f"{f['us']:.2f}")
            base = reference(figures, f["weights"])
            times_row.append(times(*ratio(f, base)) if base else None)
        clock.append(row)
        ratios.append(times_row)
    header = ["microseconds per frame", *stacks]
    return (
        markdown(header, [*clock, empty]),
        markdown(["times DuSpaR at 50 %", *stacks], ratios),
    )


def trained_table(trained):
    """Trained recurrent layers on recordings, beside opponents."""
    rows = []
    for name, figures in trained.items():
        title = name
        for f in figures:
            base = reference(figures, f["weights"]) if "weights" in f else None
            is_base = f is base
            rows.append(
                [
                    title,
                    f["name"],
                    None if f["occupancy"] is None else percent(f["occupancy"]),
                    f"{f['us']:.2f} ({f['low_us']:.2f}-{f['high_us']:.2f})",
                    "1"
                    if is_base
                    else times(*ratio(f, base))
                    if base
                    else None,
                ]
            )
            title = ""
    header = ["model", "layers", "occupancy", "microseconds", "times DuSpaR's"]
    return markdown(header, rows)


def whole_table(whole):
    """Whole models: time and share of real time."""
    rows = []
    for name, figures in whole.items():
        title = name
        for f in figures:
            seconds = f.get("seconds")
            rows.append(
                [
                    title,
                    f["name"],
                    None if f["occupancy"] is None else percent(f["occupancy"]),
                    f"{f['us']:.2f} ({f['low_us']:.2f}-{f['high_us']:.2f})",
                    seconds and f"{seconds * 1000:g} ms",
                    seconds and f"{f['us'] / seconds / 1e4:.3f} %",
                ]
            )
            title = ""
    header = [
        "",
        "file",
        "occupancy",
        "microseconds per frame",
        "a frame is",
        "of real time",
    ]
    return markdown(header, rows)


def largest_error(results):
    """How far counted occupancies are from those that were asked for."""
    return max(
        abs(f["occupancy"] - f["asked"])
        for figures in results.values()
        for f in sparse_lanes(figures)
    )


def goal_table(result):
    """What was aimed at, and what was measured."""
    rows = []

    def add(goal, limit, above, values):
        values = {name: v for name, v in values.items() if v is not None}
        if not values:
            return
        met = [v >= limit if above else v <= limit for v in values.values()]
        verdict = "met" if all(met) else "in part" if any(met) else "missed"
        found = ", ".join(f"{name} {v:.2f}" for name, v in values.items())
        rows.append(
            [goal, f"{'>=' if above else '<='} {limit}", found, verdict]
        )

    def over(opponent, asked, **format_):
        found = {}
        for name in ("KWS", "SLU", "SE"):
            figures = result["stacks"].get(name, [])
            base = sparse_lanes(figures, asked=asked, **format_)
            other = find(figures, name=opponent)
            found[name] = ratio(other, base[0])[0] if base and other else None
        return found

    for opponent, weights, operands, asked, limit in (
        ("float32", "float32", "float32", 0.5, 2.6),
        ("float32", "bfloat16", "float32", 0.28, 4),
        ("dynamic int8", "int8", "uint8", 0.5, 1.8),
        ("dynamic int8", "int8", "uint8", 0.28, 2.5),
    ):
        add(
            f"LiteRT's {opponent} GRU / sparse {weights} x {operands} at "
            f"{100 * asked:.0f} %",
            limit,
            True,
            over(
                f"GRU LiteRT {opponent}",
                asked,
                weights=weights,
                operands=operands,
            ),
        )
    halves = {}
    for name in ("KWS", "SE"):
        found = sparse_lanes(result["stacks"].get(name, []), weights="float32")
        by = {f["asked"]: f for f in found}
        if 0.5 in by and 1.0 in by:
            halves[name] = ratio(by[0.5], by[1.0])[0]
    add("sparse float32 at 50 % / at 100 %", 0.58, False, halves)
    whole = {
        name: f["us"] / f["seconds"] / 1e4
        for name, figures in result["whole"].items()
        for f in figures
        if f["name"] == "se DuSpaR float32"
    }
    add("a frame of 1 ms of the enhancer, % of real time", 2, False, whole)
    return markdown(["what", "goal", "measured", ""], rows)


def page(result):
    """All tables of a result, with what they were made with."""
    about = result["about"]
    versions = ", ".join(
        f"{k} {v}" for k, v in about["versions"].items() if v is not None
    )
    parts = [
        f"    {about['command']}\n\n{about['processor']}, kernel "
        f"`{about['kernel']}`{', LiteRT held to it' if about['held'] else ''}; "
        f"Python {about['python']}, {versions}; "
        f"{about['date']}. Microseconds per frame, {about['statistic']} of "
        f"{about['rounds']} turns (a third of them for large layers); "
        "in brackets the quartiles.",
    ]
    if result["stacks"]:
        parts += ["## Goals", goal_table(result)]
        parts += ["## DuSpaR by occupancy", occupancy_table(result["stacks"])]
        error = 100 * largest_error(result["stacks"])
        parts.append(
            "Occupancies that were counted differ from these by at most "
            f"{error:.1f} points."
        )
        parts += ["## Opponents", *opponent_tables(result["stacks"])]
    if result["trained"]:
        parts += ["## Trained models", trained_table(result["trained"])]
    if result["whole"]:
        parts += ["## Whole models", whole_table(result["whole"])]
    if result["missing"]:
        lines = [f"- {k}: {v}" for k, v in result["missing"].items()]
        parts += ["## Left out", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"
