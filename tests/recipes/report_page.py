"""Reads the pages of reports, and checks what every page has to be."""

import html.parser
import json
import re

from pages import run_page
from tests.recipes import fake_run


class Page(html.parser.HTMLParser):
    """A page's elements and text; raises where tags do not match."""

    VOID = ("meta", "img")

    def __init__(self, path):
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.open, self.elements, self.words = [], [], []
        self.feed(self.source)
        self.close()
        assert not self.open
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), names
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.words.append(data)

    def all(self, tag, **attributes):
        return [
            found
            for name, found in self.elements
            if name == tag
            and all(found.get(k) == v for k, v in attributes.items())
        ]

    def charts(self):
        """What charts of curves show under the pointer, by their titles.

        A chart is a dictionary from the name of each curve to its values, as
        text, and from `"places"` to those on the horizontal axis.
        """
        found = {}
        for svg in self.all("svg", **{"class": "chart"}):
            points = json.loads(svg.get("data-points", "[]"))
            if not points or points[0]["y"] is not None:
                continue
            shown = {"places": []}
            for point in points:
                place, *values = point["tip"].split("\n")
                shown["places"].append(place)
                for value in values:
                    name, text = value.rsplit(": ", 1)
                    shown.setdefault(name, []).append(text)
            found[svg["aria-label"].split(":")[0]] = shown
        return found


def written(folder, **options):
    """The page of a run, after the checks that every page has to pass."""
    path = run_page.write(folder, **options)
    assert path == folder / "report.html"
    return checked(path)


def checked(path):
    page = Page(path)
    assert not re.search(r"https?://|@import|url\((?!#)", page.source)
    for _, attributes in page.elements:
        for name in ("src", "href", "xlink:href", "srcset"):
            assert not re.match(
                r"[a-z]+:(?<!data:)|//", attributes.get(name, "")
            )
    assert len(page.all("script")) == 1
    assert not page.all("link")
    assert "<generator" not in page.source
    return page


def change_json(path, **values):
    content = json.loads(path.read_text())
    fake_run.write_json(path, {**content, **values})
