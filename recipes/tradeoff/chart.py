"""A chart of the page: performance against cost, with what is marked."""

import math

from tradeoff.figure import round_numbers
from training.report import charts
from training.report import figures
from training.report.markup import tag

WIDTH, HEIGHT = 560, 360
TOP, RIGHT, BOTTOM = 14, 16, 40


def tradeoff(task, cost, score):
    """The chart of a task on two axes.

    Args:
        task: A `tasks.Task`.
        cost: `Axis` of the horizontal axis, which is logarithmic.
        score: `Axis` of the vertical axis.

    Returns:
        A `figure` element, or `None` if nothing was measured.
    """
    drawn = [curve for curve in task.curves if curve.place(cost, score)]
    if not drawn:
        return None
    place_x, place_y, parts = _axes(drawn, cost, score)
    pair = task.pair(cost, score)
    for curve in drawn:
        parts.append(_curve(task, curve, cost, score, place_x, place_y))
    caption = f"{score.title} against {cost.title[0].lower()}{cost.title[1:]}"
    label = f"{caption}: {', '.join(c.name for c in drawn if c.main)}"
    note = None
    if pair:
        y = place_y(pair.level)
        ends = [place_x(value) for value in pair.costs]
        parts.append(charts.line(ends[0], y, ends[1], y, "level"))
        for curve, value in zip(task.paired, pair.costs):
            tip = (
                f"{curve.name} at {score.text(pair.level)}\n"
                f"{cost.title}: {cost.text(value)}"
            )
            path = diamond(place_x(value), y, 6)
            parts.append(
                tag(
                    "g",
                    tag("path", d=path, class_="diamond", data_tip=tip),
                    class_=_colour(task, curve),
                    data_curve=curve.name,
                )
            )
        words = f"SpaR / DuSpaR at equal performance: {pair.text()}"
        note = tag("p", words, class_="facts")
    svg = tag(
        "svg",
        parts,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=label,
        class_="chart tradeoff",
    )
    return tag("figure", tag("figcaption", caption), svg, note)


def switches(task):
    """The legend, whose entries show and hide curves."""
    return tag(
        "ul",
        [
            tag(
                "li",
                tag(
                    "button",
                    tag("i", class_=_style(task, curve)),
                    curve.name,
                    type="button",
                    data_curve=curve.name,
                    aria_pressed="true" if curve.main else "false",
                ),
            )
            for curve in task.curves
        ],
        class_="legend switches",
    )


def star(x, y, radius):
    """The path of a star."""
    corners = []
    for i in range(10):
        angle = math.pi * (i / 5 - 0.5)
        r = radius if i % 2 == 0 else 0.45 * radius
        corners.append((x + r * math.cos(angle), y + r * math.sin(angle)))
    return _closed(corners)


def diamond(x, y, radius):
    """The path of a diamond."""
    r = radius
    return _closed([(x, y - r), (x + r, y), (x, y + r), (x - r, y)])


def _closed(corners):
    return f"M{' L'.join(f'{x:.1f} {y:.1f}' for x, y in corners)} Z"


def _style(task, curve):
    dashed = "" if curve.main else " dashed"
    return f"{_colour(task, curve)}{dashed}"


def _colour(task, curve):
    return f"c{task.number(curve) % charts.COLOURS}"


def _axes(drawn, cost, score):
    """Scales that hold every curve with its error bars, and the axes."""
    places = [place for curve in drawn for place in curve.place(cost, score)]
    xs = [x for x, _, _ in places]
    bars = [(y, point.deviation(score) or 0) for _, y, point in places]
    low = min(y - bar for y, bar in bars)
    high = max(y + bar for y, bar in bars)
    room = 0.06 * (high - low) or 1
    low, high = low - room, high + room
    y_ticks = charts.ticks(low, high)
    labels = [figures.number(t, ".6g") for t in y_ticks]
    left = 14 + charts.DIGIT * max(map(len, labels))
    first, last = math.log(0.85 * min(xs)), math.log(1.18 * max(xs))

    def place_x(value):
        share = (math.log(value) - first) / (last - first)
        return left + share * (WIDTH - RIGHT - left)

    def place_y(value):
        share = (value - low) / (high - low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    bottom = HEIGHT - BOTTOM
    parts = []
    for tick, label in zip(y_ticks, labels):
        y = place_y(tick)
        parts.append(charts.line(left, y, WIDTH - RIGHT, y, "grid"))
        parts.append(charts.text(left - 6, y + 4, label, "end"))
    parts.append(charts.line(left, bottom, WIDTH - RIGHT, bottom, "axis"))
    for tick in round_numbers(min(xs), max(xs)):
        x = place_x(tick)
        parts.append(charts.line(x, bottom, x, bottom + 4, "axis"))
        parts.append(charts.text(x, bottom + 17, f"{tick:g}"))
    middle = (left + WIDTH - RIGHT) / 2
    parts.append(charts.text(middle, HEIGHT - 5, f"{cost.title}, log scale"))
    return place_x, place_y, parts


def _curve(task, curve, cost, score, place_x, place_y):
    """The group of one curve: line, error bars, points and stars."""
    places = curve.place(cost, score)
    parts = [
        tag(
            "polyline",
            points=" ".join(
                f"{place_x(x):.1f},{place_y(y):.1f}" for x, y, _ in places
            ),
            class_="" if curve.main else "dashed",
        )
    ]
    for x, y, point in places:
        at = place_x(x), place_y(y)
        up, across = point.deviation(score) or 0, point.deviation(cost) or 0
        ends = place_y(y - up), place_y(y + up)
        parts.append(charts.line(at[0], ends[0], at[0], ends[1], "error"))
        ends = place_x(max(x - across, x / 2)), place_x(x + across)
        parts.append(charts.line(ends[0], at[1], ends[1], at[1], "error"))
        tip = "\n".join(
            (
                point.name,
                f"{score.title}: {point.text(score)}",
                f"{cost.title}: {point.text(cost)}",
                f"{figures.count(point.parameters)} parameters, "
                f"{len(point.rows)} seed(s)",
            )
        )
        if point in task.stars:
            path = star(*at, 10)
            parts.append(tag("path", d=path, class_="star", data_tip=tip))
        else:
            x, y = (round(v, 1) for v in at)
            parts.append(
                tag("circle", cx=x, cy=y, r=4.5, class_="point", data_tip=tip)
            )
    return tag(
        "g",
        parts,
        class_=_colour(task, curve),
        data_curve=curve.name,
        hidden=not curve.main,
    )
