"""Charts as inline SVG and HTML, in the colours of the style sheet."""

import dataclasses
import json
import math

from training.report import figures
from training.report.markup import join
from training.report.markup import tag

WIDTH, HEIGHT = 420, 230
TOP, RIGHT, BOTTOM = 14, 12, 36
DIGIT = 6.6  # width of a digit at the size of the tick labels
COLOURS = 8  # in the style sheet
# Points a curve is drawn with; more than a screen shows apart.
MOST_POINTS = 400
# Up to here each point gets a dot.
MOST_DOTS = 40


@dataclasses.dataclass
class Series:
    """A curve.

    Attributes:
        name: String for the legend.
        values: List of numbers, as many as the chart has places on its
            horizontal axis; what is not finite leaves a gap.
        colour: Integer, the colour's number.
        dashed: Boolean.
    """

    name: str
    values: list
    colour: int = 0
    dashed: bool = False


def ticks(low, high, count=5):
    """Round numbers within an interval, about `count` of them."""
    if not high > low:
        return [low]
    raw = (high - low) / (count + 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # The power of ten of the step's last digit rounds what sums left over.
    digits = 2 - math.floor(math.log10(step))
    return [round(i * step, digits) for i in range(first, last + 1)]


def line_chart(title, x, series, x_name, form, limits=None, mark=None):
    """A chart of curves, with a legend and a value on hover.

    Args:
        title: String, what is drawn and its unit.
        x: List of finite numbers, the places on the horizontal axis.
        series: List of `Series`.
        x_name: String, the horizontal axis' name and unit.
        form: Callable that writes a value for the reader.
        limits: Optional two numbers, the ends of the vertical axis. Default:
            those of the values.
        mark: Optional pair of a place on the horizontal axis and its name.

    Returns:
        A `figure` element.
    """
    finite = [v for s in series for v in s.values if figures.is_number(v)]
    low, high = limits or _limits(finite)
    y_ticks = ticks(low, high)
    y_labels = [_tick(t) for t in y_ticks]
    left = 12 + DIGIT * max(map(len, y_labels))
    x_low, x_high = (x[0], x[-1]) if x[-1] > x[0] else (x[0] - 0.5, x[0] + 0.5)
    x_scale = (WIDTH - RIGHT - left) / (x_high - x_low)
    y_scale = (HEIGHT - TOP - BOTTOM) / (high - low)

    def place_x(value):
        return round(left + (value - x_low) * x_scale, 1)

    def place_y(value):
        return round(HEIGHT - BOTTOM - (value - low) * y_scale, 1)

    parts = [
        line(left, place_y(t), WIDTH - RIGHT, place_y(t), "grid")
        for t in y_ticks
    ]
    parts += [
        text(left - 6, place_y(t) + 4, label, "end")
        for t, label in zip(y_ticks, y_labels)
    ]
    parts += _x_axis(x, x_low, x_high, place_x, left, x_name)
    if mark and figures.is_number(mark[0]) and x_low <= mark[0] <= x_high:
        parts += _mark(mark[1], place_x(mark[0]), left)
    for curve in series:
        parts += _curve(curve, x, place_x, place_y)
    parts.append(line(0, TOP, 0, HEIGHT - BOTTOM, "cursor", hidden=True))
    points = {
        "places": [place_x(v) for v in x],
        "names": [f"{x_name} {v:.4g}" for v in x],
        "series": [
            [s.name, [form(v) for v in _filled(s.values, x)]] for s in series
        ],
    }
    svg = tag(
        "svg",
        parts,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=_description(title, series, form),
        class_="chart",
        data_points=json.dumps(points, separators=(",", ":")),
    )
    return tag(
        "figure",
        tag("figcaption", title),
        legend(series) if len(series) > 1 else None,
        svg,
        _gaps(series, x, x_name),
    )


def legend(series):
    """The names of curves beside their colours."""
    return tag(
        "ul",
        [
            tag("li", tag("i", class_=_style(curve)), curve.name)
            for curve in series
        ],
        class_="legend",
    )


def bars(rows):
    """Horizontal bars, each with its name and value.

    Args:
        rows: Tuples of name, fraction of the full length, the value as text
            and the colour's number.

    Returns:
        A `div` element.
    """
    cells = []
    for name, fraction, value, colour in rows:
        share = min(max(fraction, 0), 1) if figures.is_number(fraction) else 0
        width = f"width:{100 * share:.2f}%"
        bar = tag("i", class_=f"c{colour}", style=width)
        cells += [
            tag("span", name),
            tag("span", bar, class_="track"),
            tag("span", value, class_="value"),
        ]
    return tag("div", cells, class_="bars")


def thin(values, most=MOST_POINTS):
    """Means of so many neighbours that at most `most` values are left.

    What is not finite does not count, as a step that was masked.

    Returns:
        A list of means, and the number of values in each.
    """
    size = math.ceil(len(values) / most) or 1
    groups = (values[i : i + size] for i in range(0, len(values), size))
    means = []
    for group in groups:
        finite = [value for value in group if figures.is_number(value)]
        means.append(sum(finite) / len(finite) if finite else None)
    return means, size


def _limits(values):
    low, high = min(values, default=0), max(values, default=1)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        around = abs(low) / 10
        return (low - around, high + around) if around else (0, 1)
    room = 0.05 * (high - low)
    # A scale of what cannot be negative should not begin below zero.
    return (0 if 0 <= low <= room else low - room), high + room


def _tick(value):
    return f"{value:.6g}".replace("-", "\N{MINUS SIGN}")


def _filled(values, x):
    return list(values) + [None] * (len(x) - len(values))


def _style(curve):
    dashed = " dashed" if curve.dashed else ""
    return f"c{curve.colour % COLOURS}{dashed}"


def line(x1, y1, x2, y2, class_, **more):
    """A line of a chart."""
    x1, y1, x2, y2 = (round(v, 1) for v in (x1, y1, x2, y2))
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_, **more)


def text(x, y, words, anchor="middle", **more):
    """Words in a chart."""
    x, y = round(x, 1), round(y, 1)
    return tag("text", words, x=x, y=y, text_anchor=anchor, **more)


def _x_axis(x, low, high, place, left, name):
    bottom = HEIGHT - BOTTOM
    yield line(left, bottom, WIDTH - RIGHT, bottom, "axis")
    places = ticks(low, high, 6)
    if all(float(v).is_integer() for v in x):
        places = [t for t in places if float(t).is_integer()]
    if len(x) == 1:
        places = x
    for value in places:
        yield line(place(value), bottom, place(value), bottom + 4, "axis")
        yield text(place(value), bottom + 16, _tick(value))
    yield text((left + WIDTH - RIGHT) / 2, HEIGHT - 4, name)


def _mark(name, x, left):
    yield line(x, TOP, x, HEIGHT - BOTTOM, "mark")
    # On the side that has room.
    if x < (left + WIDTH) / 2:
        yield text(x + 4, TOP - 3, name, "start", class_="mark")
    else:
        yield text(x - 4, TOP - 3, name, "end", class_="mark")


def _curve(curve, x, place_x, place_y):
    """The curve's pieces between gaps; a lone point is a dot."""
    pieces, piece = [], []
    for at, value in zip(x, _filled(curve.values, x)):
        if figures.is_number(value):
            piece.append((place_x(at), place_y(value)))
        elif piece:
            pieces.append(piece)
            piece = []
    pieces += [piece] if piece else []
    for piece in pieces:
        if len(piece) > 1:
            yield tag(
                "polyline",
                points=" ".join(f"{px},{py}" for px, py in piece),
                class_=_style(curve),
            )
        if len(piece) == 1 or len(x) <= MOST_DOTS:
            for px, py in piece:
                yield tag(
                    "circle",
                    cx=px,
                    cy=py,
                    r=2.4,
                    class_=f"c{curve.colour % COLOURS}",
                )


def _description(title, series, form):
    """What a screen reader says of a chart: the last value of each curve."""
    ends = []
    for curve in series:
        finite = [v for v in curve.values if figures.is_number(v)]
        if finite:
            ends.append(f"{curve.name} ends at {form(finite[-1])}")
    return f"{title}: {', '.join(ends) or 'no values'}"


def _gaps(series, x, x_name):
    """A note on values that are not finite, which no curve can show."""
    notes = []
    for curve in series:
        places = [
            f"{at:g}"
            for at, value in zip(x, curve.values)
            if isinstance(value, float) and not math.isfinite(value)
        ]
        if places:
            more = f" and {len(places) - 5} more" if len(places) > 5 else ""
            notes.append(
                f"{curve.name}: not finite at {x_name} "
                f"{', '.join(places[:5])}{more}."
            )
    return tag("p", " ".join(notes), class_="warning") if notes else join([])
