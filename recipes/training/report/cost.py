"""What the model costs, layer by layer, and how full its operands are."""

from training.report import charts
from training.report import figures
from training.report.charts import Series
from training.report.markup import section
from training.report.markup import table
from training.report.markup import tag


def cost(run):
    """The section of `profile.json`."""
    layers = run.profile.get("layers")
    if not layers:
        return None
    recurrent = [
        layer
        for layer in layers
        if any(o.get("over_time") for o in layer["operands"])
    ]
    return section(
        "Products and occupancy",
        tag(
            "p",
            "A product (MAC) is one entry of a weight matrix times one entry "
            "of a vector. Effective products are those left when zeros are "
            "skipped; occupancy is effective over dense. All rates are for "
            "one second of audio, in M MAC/s.",
        ),
        products(run.profile, layers),
        tag("h3", "Occupancy of layers and their operands"),
        occupancies(recurrent),
        tag("h3", "Occupancy over time"),
        over_time(recurrent),
    )


def products(profile, layers):
    """The table of layers."""
    columns = (
        "layer",
        "kind",
        "parameters",
        "steps/s",
        "dense, M MAC/s",
        "effective, M MAC/s",
        "occupancy",
    )

    def row(figure, name, kind, steps):
        return (
            name,
            kind,
            figures.count(figure.get("params")),
            figures.number(steps, ",.6g") if steps else "",
            figures.millions(figure.get("dense_macs")),
            figures.millions(figure.get("effective_macs")),
            figures.percent(figure.get("occupancy")),
        )

    rows = [
        row(layer, layer["name"], layer["kind"], layer["steps_per_second"])
        for layer in layers
    ]
    rows.append(row(profile, "total", "", None))
    return table(columns, rows, left=2, highlight=(len(rows) - 1,))


def occupancies(layers):
    """Bars of each layer, and of the operands under it."""
    rows = []
    for layer in layers:
        value = layer.get("occupancy")
        rows.append((layer["name"], value, figures.percent(value), 0))
        for operand in layer["operands"]:
            share = operand["nonzeros"] / operand["size"]
            skips = "" if operand["sparse"] else " (never skipped)"
            rows.append(
                (
                    tag("em", operand["name"], skips),
                    share,
                    figures.percent(share),
                    1,
                )
            )
    if not rows:
        return tag("p", "The profile has no recurrent layer.")
    return charts.bars(rows)


def over_time(layers):
    """A chart of each layer, with a curve an operand."""
    drawn = []
    longest = 1
    for layer in layers:
        curves = [o for o in layer["operands"] if o.get("over_time")]
        rate = layer["steps_per_second"]
        series = []
        for i, operand in enumerate(curves):
            values, size = charts.thin(operand["over_time"])
            longest = max(longest, size)
            values = [None if v is None else 100 * v for v in values]
            series.append(Series(operand["name"], values, i, i > 1))
        x = [i * size / rate for i in range(len(series[0].values))]
        drawn.append(
            charts.line_chart(
                f"{layer['name']} ({layer['kind']}), in %",
                x,
                series,
                "time in s",
                lambda v: figures.number(v, ".1f"),
                limits=(0, 100),
            )
        )
    return [
        tag(
            "p",
            "The share of an operand's entries that are multiplied at a time "
            "step, mean over the recordings that were profiled"
            + (
                f"; each point is a mean of up to {longest} steps."
                if longest > 1
                else "."
            ),
        ),
        tag("div", drawn, class_="charts"),
    ]
