"""Profiles as text."""

from keras_duspar.utils.tables import millions
from keras_duspar.utils.tables import percent
from keras_duspar.utils.tables import text_table

_COLUMNS = (
    "layer",
    "kind",
    "params",
    "steps/s",
    "dense MAC/s",
    "effective MAC/s",
    "fetches/s",
    "occupancy",
    "of operands",
    "biases/s",
    "element-wise/s",
)


def profile_table(profile):
    """The table of a `Profile`."""
    rows = [_row(layer, layer.name, layer.kind) for layer in profile.layers]
    total = _row(profile, "total", "")
    columns = _COLUMNS
    if any(layer.weight_density < 1 for layer in profile.layers):
        columns += ("non-zero weights", "non-zero MAC/s")
        figures = [*profile.layers, profile]
        *rows, total = (
            (*row, percent(f.weight_density), millions(f.nonzero_macs))
            for row, f in zip([*rows, total], figures)
        )
    return text_table(
        columns, rows, total, left=("layer", "kind", "of operands")
    )


def _row(figures, name, kind):
    is_layer = bool(kind)
    return (
        name,
        kind,
        f"{figures.params:,}",
        f"{figures.steps_per_second:,.6g}" if is_layer else "",
        millions(figures.dense_macs),
        millions(figures.effective_macs),
        millions(figures.weight_fetches),
        percent(figures.occupancy),
        ", ".join(
            f"{name} {percent(value)}"
            for name, value in figures.occupancies.items()
        )
        if is_layer and figures.recurrent
        else "",
        millions(figures.biases),
        millions(figures.elementwise),
    )
