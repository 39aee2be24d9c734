"""Profiles as text."""

from keras_duspar.utils.tables import percent
from keras_duspar.utils.tables import scaled
from keras_duspar.utils.tables import text_table

NOT_COUNTED = "not counted"
# Columns of rates, and the figure that each shows.
_RATES = {
    "dense MAC/s": "dense_macs",
    "effective MAC/s": "effective_macs",
    "fetches/s": "weight_fetches",
    "biases/s": "biases",
    "element-wise/s": "elementwise",
    "non-zero MAC/s": "nonzero_macs",
}
_LEFT = ("layer", "kind", "of operands")


def profile_table(profile):
    """The table of a `Profile`."""
    layers, left_out = profile.layers, profile.uncounted
    figures = [*layers, profile]  # the total comes last
    total = "total"
    if left_out:
        total = f"total, {len(left_out)} {NOT_COUNTED}"
    rates = {
        column: scaled([getattr(f, name) for f in figures])
        for column, name in _RATES.items()
    }
    table = {
        "layer": [*(layer.name for layer in layers), total],
        "kind": [*(layer.kind for layer in layers), ""],
        "params": [f"{f.params:,}" for f in figures],
        "steps/s": [*(f"{x.steps_per_second:,.6g}" for x in layers), ""],
    }
    for column in ("dense MAC/s", "effective MAC/s", "fetches/s"):
        table[column] = rates[column]
    table["occupancy"] = [percent(f.occupancy) for f in figures]
    table["of operands"] = [*map(_operands, layers), ""]
    for column in ("biases/s", "element-wise/s"):
        table[column] = rates[column]
    if any(layer.weight_density < 1 for layer in layers):
        table["non-zero weights"] = [percent(f.weight_density) for f in figures]
        table["non-zero MAC/s"] = rates["non-zero MAC/s"]
    *rows, footer = zip(*table.values())
    empty = [""] * (len(table) - 5)
    rows += [
        (layer.name, layer.kind, f"{layer.params:,}", "", NOT_COUNTED, *empty)
        for layer in left_out
    ]
    return text_table(tuple(table), rows, footer, left=_LEFT)


def _operands(layer):
    """Occupancy of each operand of a recurrent layer."""
    if not layer.recurrent:
        return ""
    return ", ".join(f"{n} {percent(v)}" for n, v in layer.occupancies.items())
