"""The colors of pages and figures."""

# On light and on dark ground.
COLORS = {
    "page": ("#f5f6f8", "#12151a"),
    "card": ("#ffffff", "#1b2027"),
    "ink": ("#1b2129", "#e7ebf0"),
    "soft": ("#545e6b", "#a7b1bd"),
    "rule": ("#d9dee5", "#353d48"),
    "notice": ("#fff3d6", "#3a2f14"),
    "notice-edge": ("#b97900", "#e0a92e"),
    "strong": ("#eaf2fb", "#222f3e"),
    "wrong": ("#c24a00", "#ff9e64"),
    "c0": ("#0060a8", "#6cb6ff"),
    "c1": ("#b3440a", "#ff9e64"),
    "c2": ("#00735c", "#4fd1a5"),
    "c3": ("#7a3e9d", "#c9a0ff"),
    "c4": ("#806200", "#e5c34b"),
    "c5": ("#b0306a", "#ff8fbf"),
    "c6": ("#4a5d69", "#a9bcc9"),
    "c7": ("#2f3b46", "#d5dde6"),
    "c8": ("#4f7000", "#b4d95a"),
}
LIGHT, DARK = ({name: pair[i] for name, pair in COLORS.items()} for i in (0, 1))
SERIES = tuple(LIGHT[f"c{i}"] for i in range(9))


def series(number):
    """The color of a curve by its number."""
    return SERIES[number % len(SERIES)]
