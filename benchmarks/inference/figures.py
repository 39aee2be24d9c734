"""Plots of the figures of `benchmarks/interpreter.py`."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from inference.doc_tables import find
from inference.doc_tables import sparse_lanes

COLORS = {
    ("float32", "float32"): "#1f4e8c",
    ("bfloat16", "float32"): "#2a9d8f",
    ("int8", "float32"): "#e9a03b",
    ("int8", "uint8"): "#c8553d",
    ("int8", "uint7"): "#8c6bb1",
}


def by_occupancy(results, path):
    """Time against occupancy, with the line of time that is all MACs."""
    names = [n for n in ("KWS", "SE", "512-512", "1024-1024") if n in results]
    names = names or list(results)[:4]
    figure, axes = plt.subplots(
        1, len(names), figsize=(3.3 * len(names), 3.4), squeeze=False
    )
    for axis, name in zip(axes[0], names):
        figures = results[name]
        for marker, (kind, color) in zip("osD^vP", COLORS.items()):
            weights, operands = kind
            found = sparse_lanes(figures, weights=weights, operands=operands)
            if not found:
                continue
            x = [100 * f["occupancy"] for f in found]
            y = [f["us"] for f in found]
            label = f"{weights} x {operands}"
            axis.plot(
                x, y, f"{marker}-", color=color, ms=3.5, lw=1.3, label=label
            )
            if weights == "float32":
                axis.plot(
                    [0, 100],
                    [0, y[-1]],
                    "--",
                    color=color,
                    lw=1,
                    label="ideal: float32 at 100 % x occupancy",
                )
        for label, color, style in (
            ("GRU LiteRT float32", "0.45", ":"),
            ("GRU LiteRT dynamic int8", "0.45", "-."),
        ):
            found = find(figures, name=label)
            if found:
                axis.axhline(
                    found["us"],
                    color=color,
                    ls=style,
                    lw=1.1,
                    label=label,
                )
        axis.set_title(name, fontsize=10)
        axis.margins(y=0.1)
        axis.set_xlim(0, 104)
        axis.set_ylim(bottom=0)
        axis.set_xlabel("occupancy, %")
        axis.grid(alpha=0.25)
    axes[0][0].set_ylabel("microseconds per frame")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.tight_layout(rect=(0, 0.16, 1, 1))
    figure.legend(
        handles, labels, loc="lower center", ncol=4, fontsize=8, frameon=False
    )
    figure.savefig(path, dpi=110)
    plt.close(figure)


SIZES = (
    ("GRU torch float32", "0.6", "s:"),
    ("GRU ONNX Runtime float32", "0.35", "^:"),
    ("DuSpaR built-in", "#7a9cc6", "v--"),
    ("GRU LiteRT float32", "#1f4e8c", "D--"),
    ("GRU our own kernel in C float32", "#2a9d8f", "x--"),
    ("GRU LiteRT dynamic int8", "#e9a03b", "D-."),
    ("GRU our own kernel in C int8", "#8c6bb1", "x-."),
)


def by_size(results, parameters, path):
    """Time against the parameters of single layers."""
    names = sorted(
        (n for n in results if "-" in n), key=lambda n: parameters[n]
    )
    figure, axis = plt.subplots(figsize=(7.2, 4.4))
    x = [parameters[n] for n in names]
    lines = [
        (label, color, style, [find(results[n], name=label) for n in names])
        for label, color, style in SIZES
    ]
    for weights, operands, color in (
        ("float32", "float32", "#c8553d"),
        ("int8", "uint8", "#7f1d1d"),
    ):
        found = [
            sparse_lanes(
                results[n], weights=weights, operands=operands, asked=0.5
            )
            for n in names
        ]
        label = f"DuSpaR sparse {weights} x {operands}, 50 %"
        lines.append((label, color, "o-", [f[0] if f else None for f in found]))
    for label, color, style, found in lines:
        points = [(a, f["us"]) for a, f in zip(x, found) if f]
        if points:
            axis.plot(
                *zip(*points), style, color=color, ms=4, lw=1.4, label=label
            )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks(x, names, fontsize=8, rotation=90)
    axis.minorticks_off()
    axis.set_xlabel("layer of DuSpaR (by parameters); others have as many")
    axis.set_ylabel("microseconds per frame")
    axis.grid(alpha=0.25, which="both")
    axis.legend(
        fontsize=7.5,
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        frameon=False,
    )
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
