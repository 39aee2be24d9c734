"""Charts of the pages: matplotlib's SVG, in the colors of the style sheet."""

import contextlib
import dataclasses
import io
import json
import math
import re

import markupsafe
import matplotlib
import matplotlib.figure
import matplotlib.ticker
from matplotlib.backends import backend_svg

from pages import formats
from pages import palette

WIDTH, HEIGHT = 420, 230
# Points a curve is drawn with; more than a screen shows apart.
MOST_POINTS = 400
# Up to here each point gets a dot.
MOST_DOTS = 40
STYLE = {
    "axes.facecolor": "none",
    "axes.edgecolor": palette.LIGHT["soft"],
    "axes.labelcolor": palette.LIGHT["soft"],
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.axisbelow": True,
    "figure.facecolor": "none",
    "font.size": 12,
    "grid.color": palette.LIGHT["rule"],
    "image.interpolation": "none",
    "lines.markersize": 4,
    "lines.linewidth": 1.8,
    "svg.fonttype": "none",
    "svg.hashsalt": "keras_duspar",
    "text.color": palette.LIGHT["ink"],
    "text.parse_math": False,
    "xtick.color": palette.LIGHT["soft"],
    "ytick.color": palette.LIGHT["soft"],
    "ytick.major.size": 0,
}


@dataclasses.dataclass
class Series:
    """A curve.

    Attributes:
        name: String for the legend.
        values: List of numbers, as many as the chart has places on its
            horizontal axis; what is not finite leaves a gap.
        color: Integer, the color's number.
        dashed: Boolean.
    """

    name: str
    values: list
    color: int = 0
    dashed: bool = False


@dataclasses.dataclass
class Chart:
    """What a template shows of a chart.

    Attributes:
        title: String, what is drawn and its unit.
        svg: The picture, as markup.
        series: List of `Series` for the legend.
        note: String to put below it.
        warning: String, what the curves cannot show.
    """

    title: str
    svg: markupsafe.Markup
    series: list = ()
    note: str = ""
    warning: str = ""


@contextlib.contextmanager
def drawing(width=WIDTH, height=HEIGHT):
    """Yields a figure of so many pixels, and draws in the pages' style."""
    with matplotlib.rc_context(STYLE):
        yield matplotlib.figure.Figure(
            (width / 72, height / 72), dpi=72, layout="constrained"
        )


def svg(figure, label, points=(), kind="chart", **data):
    """A figure as markup for the inside of a page.

    Args:
        figure: The `Figure`.
        label: String, what a screen reader says of it.
        points: Dictionaries to show under the pointer, each with `x`, `y`
            (`None` for any height), in units of the first axes, and `tip`; more
            entries are passed on. Default: none.
        kind: String, the element's class. Default: `"chart"`.
        **data: More attributes of the element.

    Returns:
        The `svg` element.
    """
    if figure.get_layout_engine() is not None:
        # Once: what is drawn below must lie where the points are looked up.
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine("none")
    axes = figure.axes[0]
    width, height = figure.bbox.width, figure.bbox.height
    placed = []
    for point in points:
        y = axes.get_ylim()[0] if point["y"] is None else point["y"]
        place = axes.transData.transform((point["x"], y))
        here = {"x": round(place[0], 1), "y": None}
        if point["y"] is not None:
            here["y"] = round(height - place[1], 1)
        placed.append({**point, **here})
    file = io.StringIO()
    # Neither the time nor addresses of schemes belong on the page.
    names = ("Creator", "Date", "Format", "Type")
    backend_svg.FigureCanvasSVG(figure).print_svg(
        file, metadata=dict.fromkeys(names)
    )
    inside = re.sub(r"\A.*?<svg[^>]*>", "", file.getvalue(), flags=re.DOTALL)
    inside = re.sub(r"<metadata>.*?</metadata>", "", inside, flags=re.DOTALL)
    inside = re.sub(r"<style.*?</style>", "", inside, flags=re.DOTALL)
    inside = re.sub(r' transform="rotate\(-0 [^"]*"', "", inside)
    inside = re.sub(r"font-family: [^;\"]*;? ?", "", inside)
    inside = re.sub(r"(font: [\d.]+px)[^;\"]*", r"\1 inherit", inside)
    inside = re.sub(r'id="curve-(\d+)"', r'data-curve="\1"', inside)
    # Names that nothing refers to would be there once per chart.
    inside = re.sub(r' id="[a-z]+[a-z0-9.]*_\d+"', "", inside)
    for name, color in palette.LIGHT.items():
        inside = inside.replace(color, f"var(--{name})")
    attributes = {
        "viewBox": f"0 0 {width:g} {height:g}",
        "role": "img",
        "aria-label": label,
        "class": kind,
        **data,
    }
    if placed:
        attributes["data-points"] = json.dumps(placed, separators=(",", ":"))
    written = "".join(
        f' {name}="{markupsafe.escape(value)}"'
        for name, value in attributes.items()
    )
    return markupsafe.Markup(f"<svg{written}>{inside.strip()}")


def line_chart(title, x, series, x_name, form, limits=None, mark=None):
    """A chart of curves, with values to show under the pointer.

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
        A `Chart`.
    """
    columns = [finite(curve.values, len(x)) for curve in series]
    with drawing() as figure:
        axes = figure.subplots()
        axes.grid(True, axis="y")
        for curve, values in zip(series, columns):
            alone = sum(map(math.isfinite, values)) == 1
            axes.plot(
                x,
                values,
                color=palette.series(curve.color),
                linestyle="--" if curve.dashed else "-",
                marker="o" if len(x) <= MOST_DOTS or alone else None,
                clip_on=False,
            )
        whole = all(float(v).is_integer() for v in x)
        set_ticks(axes, whole)
        set_limits(axes, x, [v for column in columns for v in column], limits)
        axes.set_xlabel(x_name)
        low, high = axes.get_xlim()
        if mark and formats.is_number(mark[0]) and low <= mark[0] <= high:
            ink = palette.LIGHT["ink"]
            axes.axvline(mark[0], color=ink, linewidth=1, linestyle="--")
            axes.annotate(
                mark[1],
                (mark[0], 1),
                # On the side that has room.
                (4 if mark[0] < (low + high) / 2 else -4, 3),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha="left" if mark[0] < (low + high) / 2 else "right",
                color=ink,
                fontsize=11,
            )
        points = [
            {
                "x": at,
                "y": None,
                "tip": "\n".join(
                    [f"{x_name} {at:.4g}"]
                    + [
                        f"{s.name}: {form(v[i])}"
                        for s, v in zip(series, columns)
                    ]
                ),
            }
            for i, at in enumerate(x)
        ]
        ends = []
        for curve, values in zip(series, columns):
            last = [v for v in values if math.isfinite(v)][-1:]
            ends += [f"{curve.name} ends at {form(v)}" for v in last]
        label = f"{title}: {', '.join(ends) or 'no values'}"
        drawn = svg(figure, label, points)
    return Chart(title, drawn, series, warning=gaps(series, x, x_name))


def set_ticks(axes, whole=False, rows=5):
    """Puts round numbers on both axes.

    Args:
        axes: The `Axes`.
        whole: Boolean, whether only integers fit the horizontal axis.
            Default: `False`.
        rows: Integer, how many the vertical axis has at most. Default: 5.
    """
    steps = (1, 2, 2.5, 5, 10)
    locator = matplotlib.ticker.MaxNLocator
    axes.xaxis.set_major_locator(locator(6, integer=whole, steps=steps))
    axes.yaxis.set_major_locator(locator(rows, steps=steps))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: formats.number(value, ".6g"))


def set_limits(axes, x, values, limits=None):
    """Sets the ends of both axes, whatever is not finite among the values."""
    axes.set_xlim(*((x[0], x[-1]) if x[-1] > x[0] else (x[0] - 1, x[0] + 1)))
    found = [v for v in values if math.isfinite(v)]
    low, high = min(found, default=0), max(found, default=1)
    room = 0.05 * (high - low) or 0.1 * abs(low) or 1
    # A scale of what cannot be negative should not begin below zero.
    start = 0 if 0 <= low <= room else low - room
    axes.set_ylim(*(limits or (start, high + room)))


def scatter_chart(title, places, x_name, form):
    """A chart of one point per run.

    Args:
        title: String.
        places: Tuples of name, x, y and the color's number; those without
            both numbers are left out.
        x_name: String, the horizontal axis' name and unit.
        form: Callable that takes x and y and describes a point.

    Returns:
        A `Chart`, or `None` if there are fewer than two points.
    """
    places = [p for p in places if all(map(formats.is_number, p[1:3]))]
    if len(places) < 2:
        return None
    with drawing() as figure:
        axes = figure.subplots()
        axes.grid(True, axis="y")
        for name, x, y, color in places:
            axes.plot(x, y, "o", color=palette.series(color), markersize=9)
            axes.annotate(
                name, (x, y), (8, 4), textcoords="offset points", fontsize=11
            )
        axes.margins(0.3, 0.15)
        set_ticks(axes)
        axes.set_xlabel(x_name)
        points = [
            {"x": x, "y": y, "tip": f"{name}\n{form(x, y)}"}
            for name, x, y, _ in places
        ]
        return Chart(title, svg(figure, f"{title}: {len(places)} runs", points))


def finite(values, length):
    """So many values as floats; what is no finite number is NaN."""
    values = [*values, *[None] * (length - len(values))]
    return [float(v) if formats.is_number(v) else math.nan for v in values]


def thin(values, most=MOST_POINTS):
    """Means of so many neighbors that at most `most` values are left.

    What is not finite does not count, such as a step that was masked.

    Returns:
        A list of means, and the number of values in each.
    """
    size = math.ceil(len(values) / most) or 1
    groups = (values[i : i + size] for i in range(0, len(values), size))
    means = []
    for group in groups:
        numbers = [value for value in group if formats.is_number(value)]
        means.append(sum(numbers) / len(numbers) if numbers else None)
    return means, size


def gaps(series, x, x_name):
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
    return " ".join(notes)
