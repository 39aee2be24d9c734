"""The cards of presets as text, for the command line and for the docs."""

import textwrap

# How metrics are written: name, title, factor, digits, unit.
METRICS = (
    ("accuracy", "accuracy", 100, 2, " %"),
    ("pesq_wb", "PESQ-WB", 1, 3, ""),
    ("stoi", "STOI", 100, 2, " %"),
    ("si_sdr", "SI-SDR", 1, 2, " dB"),
)


def card_rows(card):
    """What a card says, as pairs of a title and a text."""
    data, trained = card["data"], card["trained"]
    frame = 1000 * card["hop"] / card["sample_rate"]
    rows = [
        ("what", card["description"]),
        ("labels", ", ".join(card["labels"] or [])),
        ("test", scores_text(card["metrics"]["test"])),
        ("in Keras, float32", scores_text(card["metrics"]["keras"])),
        *(
            (title, scores_text(scores))
            for title, scores in card["metrics"].get("further", {}).items()
        ),
        ("weights", f"{card['weights']}: {_reason(card)}"),
        ("parameters", f"{card['parameters']:,}"),
        (
            "MACs per second",
            f"{card['effective_macs'] / 1e6:.3f} M of "
            f"{card['dense_macs'] / 1e6:.3f} M, occupancy "
            f"{100 * card['occupancy']:.1f} %",
        ),
        (
            "time",
            f"{card['us_per_frame']:.1f} us per frame of {frame:g} ms "
            f"({card['timed']})",
        ),
        ("files", _sizes(card["bytes"])),
        (
            "data",
            f"{data['name']}, {data['license']}: {data['attribution']}",
        ),
        (
            "trained by",
            f"`{trained['command']}`, seed {trained['seed']}, best epoch "
            f"{trained['best_epoch']} of {trained['epochs']}, "
            f"{trained['date']}",
        ),
        ("limits", " ".join(card["limits"])),
    ]
    return [(title, text) for title, text in rows if text]


def scores_text(scores):
    """Metrics and the number of recordings that they are of."""
    parts = []
    for name, title, factor, digits, unit in METRICS:
        value = scores.get(name)
        if isinstance(value, dict):  # before and after
            values = (
                f"{factor * value[side]:.{digits}f}{unit}"
                for side in ("noisy", "enhanced")
            )
            parts.append(f"{title} {' -> '.join(values)}")
        elif value is not None:
            parts.append(f"{title} {factor * value:.{digits}f}{unit}")
    count = f" (n = {scores['count']:,})" if "count" in scores else ""
    return f"{', '.join(parts)}{count}"


def _reason(card):
    """How the kinds of weights compare, on validation data."""
    parts = []
    for weights, found in card["compared"].items():
        parts.append(
            f"{weights} {scores_text(found)}, {found['us_per_frame']:.1f} us, "
            f"{found['bytes'] / 1000:,.0f} KB"
        )
    # They were chosen where the preset was made, by the times of that machine.
    chosen = "chosen from" if len(parts) > 1 else "given,"
    return f"{chosen} {'; '.join(parts)}, on validation data"


def _sizes(sizes):
    listed = (f"{name} {size / 1000:,.0f} KB" for name, size in sizes.items())
    return ", ".join(listed)


def card_text(card, columns=None):
    """A card for a terminal.

    Args:
        card: Dictionary, the card.
        columns: Integer, how wide the terminal is. Default: `None`, texts are
            not wrapped.
    """
    rows = card_rows(card)
    width = max(len(title) for title, _ in rows)
    lines = [
        f"{title if not i else '':>{width}}  {line}"
        for title, text in rows
        for i, line in enumerate(wrapped(text, columns, width + 2))
    ]
    return "\n".join([card["name"], *lines])


def wrapped(text, columns, indent):
    """The lines of a text behind `indent` characters of a terminal.

    Args:
        text: String.
        columns: Integer, how wide the terminal is, or `None`.
        indent: Integer, how much of each line is taken.
    """
    if columns is None:
        return [text]
    width = max(columns - indent, 24)
    return textwrap.wrap(text, width, break_on_hyphens=False)


def card_section(card):
    """A card as a section of a page in Markdown."""
    lines = [f"| {title} | {text} |" for title, text in card_rows(card)]
    head = [f"## `{card['name']}`", "", "| | |", "|---|---|"]
    return "\n".join([*head, *lines]) + "\n"
