"""HTML as strings in which everything is escaped unless it is markup."""

import html
from collections.abc import Iterable


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def join(parts):
    """Puts parts together; strings that are not `Markup` are escaped.

    Args:
        parts: Iterable of strings, numbers, `None`, which is left out, or
            iterables of these.
    """
    return Markup("".join(map(_escaped, parts)))


def _escaped(part):
    if part is None:
        return ""
    if isinstance(part, Markup):
        return part
    if isinstance(part, Iterable) and not isinstance(part, str):
        return join(part)
    return html.escape(str(part))


def tag(name, /, *children, **attributes):
    """An element.

    Args:
        name: String, the element's name; `"br"`-like ones have no children.
        *children: What `join()` takes.
        **attributes: Values are escaped; `True` stands for an attribute
            without a value, `None` and `False` for none. Underscores in names
            become hyphens and `class_` is `class`.
    """
    text = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        given = "" if value is True else f'="{html.escape(str(value))}"'
        text.append(f" {key}{given}")
    start = f"<{name}{''.join(text)}>"
    if name in ("img", "meta"):
        return Markup(start)
    return Markup(f"{start}{join(children)}</{name}>")


def table(columns, rows, left=1, highlight=()):
    """A table that scrolls sideways where it does not fit.

    Args:
        columns: Sequence of headings.
        rows: Sequences of cells; the first cell is the row's heading.
        left: Integer, how many columns are aligned to the left.
        highlight: Indices of the rows to set apart.
    """

    def cells(kind, row):
        for i, cell in enumerate(row):
            scope = None
            if kind == "th":
                scope = "col"
            elif i == 0:
                scope = "row"
            yield tag(
                "th" if scope else "td",
                cell,
                scope=scope,
                class_="text" if i < left else None,
            )

    body = [
        tag("tr", *cells("td", row), class_="strong" if i in highlight else "")
        for i, row in enumerate(rows)
    ]
    return tag(
        "div",
        tag(
            "table",
            tag("thead", tag("tr", *cells("th", columns))),
            tag("tbody", *body),
        ),
        class_="scroll",
        tabindex=0,
    )


def section(title, *children):
    """A section of the page under a heading."""
    return tag("section", tag("h2", title), *children)


def details(summary, *children):
    """What is folded away until it is asked for."""
    return tag("details", tag("summary", summary), *children)
