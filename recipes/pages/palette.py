"""The colors of pages and figures, on light and on dark ground."""

LIGHT = {
    "page": "#f5f6f8",
    "card": "#ffffff",
    "ink": "#1b2129",
    "soft": "#545e6b",
    "rule": "#d9dee5",
    "notice": "#fff3d6",
    "notice-edge": "#b97900",
    "strong": "#eaf2fb",
    "wrong": "#c24a00",
    "c0": "#0060a8",
    "c1": "#b3440a",
    "c2": "#00735c",
    "c3": "#7a3e9d",
    "c4": "#806200",
    "c5": "#b0306a",
    "c6": "#4a5d69",
    "c7": "#2f3b46",
}
DARK = {
    "page": "#12151a",
    "card": "#1b2027",
    "ink": "#e7ebf0",
    "soft": "#a7b1bd",
    "rule": "#353d48",
    "notice": "#3a2f14",
    "notice-edge": "#e0a92e",
    "strong": "#222f3e",
    "wrong": "#ff9e64",
    "c0": "#6cb6ff",
    "c1": "#ff9e64",
    "c2": "#4fd1a5",
    "c3": "#c9a0ff",
    "c4": "#e5c34b",
    "c5": "#ff8fbf",
    "c6": "#a9bcc9",
    "c7": "#d5dde6",
}
SERIES = tuple(LIGHT[f"c{i}"] for i in range(8))


def series(number):
    """The color of a curve by its number."""
    return SERIES[number % len(SERIES)]
