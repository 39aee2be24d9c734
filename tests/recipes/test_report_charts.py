"""The report's pictures: curves, confusion matrix, spectrograms."""

import base64
import csv
import html
import io
import json
import math
import re

import numpy as np
import pytest

from pages import plots
from pages import spectrograms
from tests.recipes import fake_run
from tests.recipes.report_page import written

pytestmark = pytest.mark.any_backend


def test_curves_hold_the_metrics(kws):
    rows = list(csv.DictReader((kws / "metrics.csv").open()))
    shown = written(kws).charts()
    for title, columns, factor, digits in (
        ("Loss", ("loss", "val_loss"), 1, 3),
        ("Accuracy in %", ("accuracy", "val_accuracy"), 100, 2),
        ("Effective M MAC/s", ("effective_macs",), 1e-6, 3),
        ("Learning rate", ("learning_rate",), 1, 5),
    ):
        chart = shown.pop(title)
        assert len(chart) == 1 + len(columns)
        for values, column in zip(list(chart.values())[1:], columns):
            np.testing.assert_allclose(
                [float(v.replace("\N{MINUS SIGN}", "-")) for v in values],
                [factor * float(row[column]) for row in rows],
                atol=10.0**-digits,
            )
    _, *names = shown["Occupancy in %"]
    assert names == ["all layers", "recurrent_1", "recurrent_2"]


def test_losses_of_enhancement_have_panels_of_their_own(se):
    shown = written(se).charts()
    assert list(shown["Loss"]) == ["places", "training"]
    assert list(shown["Loss, validation"]) == ["places", "validation"]


def test_budget_is_drawn_with_its_aim(kws):
    rows = list(csv.DictReader((kws / "metrics.csv").open()))
    for i, row in enumerate(rows):
        row |= {"budget_aim": 0.4 - 0.01 * i, "budget_occupancy": 0.41}
        row |= {"budget_weight": 0.1 * i}
    with (kws / "metrics.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    shown = written(kws).charts()
    names = ["places", "reached", "aim"]
    assert sorted(shown["Occupancy and its aim"]) == sorted(names)
    assert len(shown["Weight of the budget"]) == 2


def test_unknown_columns(tmp_path):
    rows = [
        {"epoch": i, "val_wer": 0.5, "wer": 0.25, "note": "warm", "lr2": i}
        for i in (1, 2, 3)
    ]
    page = written(tmp_path, rows=rows)
    shown = page.charts()
    assert list(shown) == ["Wer", "Lr2"]
    assert list(shown["Wer"]) == ["places", "training", "validation"]
    assert "warm" in page.text


def test_occupancy_over_time(kws):
    layers = json.loads((kws / "profile.json").read_text())["layers"]
    shown = written(kws).charts()
    for layer in layers[:2]:
        chart = shown[f"{layer['name']} ({layer['kind']}), in %"]
        for operand in layer["operands"]:
            values = chart[operand["name"]]
            np.testing.assert_allclose(
                np.array(values, "float"),
                100 * np.array(operand["over_time"]),
                atol=0.051,
            )


def test_long_curves_are_thinned():
    values, size = plots.thin([0.0, 1.0] * 500 + [math.nan] * 4, most=500)
    assert size == 3 and len(values) <= 500
    assert values[0] == pytest.approx(1 / 3)
    assert values[-1] is None
    assert plots.thin([1.0, 2.0]) == ([1.0, 2.0], 1)


def line(drawn, color=0):
    """The points of the curve of a color in an SVG."""
    found = re.search(rf'd="([^"]+)" [^>]*stroke: var\(--c{color}\)', drawn)
    points = re.findall(r"[ML] ([\d.]+) ([\d.]+)", found[1])
    return [tuple(map(float, point)) for point in points]


def test_points_lie_where_their_values_are():
    """Higher values are further up, later ones further right."""
    chart = plots.line_chart(
        "t", [1, 2, 3], [plots.Series("s", [0.0, 10.0, 5.0])], "x", str
    )
    (x1, y1), (x2, y2), (x3, y3) = line(chart.svg)
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.2) and x1 < x2
    assert y3 == pytest.approx((y1 + y2) / 2, abs=0.2) and y2 < y3 < y1
    # What the pointer finds is where it is drawn.
    places = re.search(r'data-points="([^"]+)"', chart.svg)[1]
    places = json.loads(html.unescape(places))
    assert [p["x"] for p in places] == pytest.approx([x1, x2, x3], abs=0.1)


def test_charts_are_the_same_every_time_and_have_both_grounds():
    draw = [
        plots.line_chart(
            "t", [1, 2], [plots.Series("s", [1.0, 2.0], 3)], "x", str
        ).svg
        for _ in range(2)
    ]
    assert draw[0] == draw[1]
    # Colors come from the style sheet, and so do the letters.
    assert not re.search(r"#[0-9a-f]{6}\b", draw[0])
    assert "var(--c3)" in draw[0] and "DejaVu" not in draw[0]


def cells(page, color):
    """The opacities of the filled cells of a color."""
    matrix = page.source.split('class="matrix"')[1].split("</svg>")[0]
    found = re.findall(rf"fill: var\(--{color}\)(; opacity: [\d.]+)?", matrix)
    return [float(words.rpartition(" ")[2] or 1) for words in found]


def test_confusion_of_35_labels(kws):
    counts = np.diag(np.full(35, 20))
    counts[7, 3] = 5
    counts[8, 2] = 4
    fake_run.write_confusion(kws / "confusion.csv", fake_run.WORDS, counts)
    page = written(kws)
    right, wrong = cells(page, "c0"), cells(page, "wrong")
    assert (len(right), len(wrong)) == (35, 2)
    assert wrong[0] > wrong[1] and max(wrong) < min(right)
    words = fake_run.WORDS
    (matrix,) = page.all("svg", **{"class": "matrix"})
    tips = [point["tip"] for point in json.loads(matrix["data-points"])]
    assert len(tips) == 37
    assert f"{words[7]} → {words[3]}: 5 of 25 (20.0\xa0%)" in tips
    assert f"share {words[7]} {words[3]} 5 25 20.0 %" in page.text
    # The worst label comes first.
    assert f"accuracy {words[7]} 20 25 80.0 %" in page.text


def test_confusion_with_a_column_for_no_intent(tmp_path):
    labels = ["activate|lights", "increase|heat"]
    folder = fake_run.make_run(tmp_path / "slu", "slu", labels=labels)
    fake_run.write_confusion(
        folder / "confusion.csv", labels, [[8, 0, 2], [0, 10, 0]], ["(none)"]
    )
    page = written(folder)
    assert "activate|lights (none) 2 10 20.0 %" in page.text
    assert len(cells(page, "c0")) == 2


def test_examples(se):
    page = written(se)
    players = page.all("audio")
    assert len(players) == 6 and all("controls" in p for p in players)
    kind, content = players[1]["src"].split(",")
    assert kind == "data:audio/wav;base64"
    recorded = (se / "examples" / "1_enhanced.wav").read_bytes()
    assert base64.b64decode(content) == recorded
    assert len(page.all("image")) == 6
    assert "p1, mixed at 5 dB" in page.text
    assert "PESQ-WB 1.500 2.200" in page.text


def test_spectrogram_of_a_tone():
    tone = np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000)
    levels = spectrograms.spectrogram(tone)
    assert levels.shape == (257, 101)
    assert (levels[:, 5:-5].argmax(axis=0) == 32).all()  # 1000 of 16000 Hz


def test_spectrograms_share_one_scale():
    from matplotlib import image

    tone = np.sin(np.arange(8000))
    levels = spectrograms.shared_levels({"loud": tone, "soft": 0.01 * tone})
    pictures = []
    for name in ("loud", "soft"):
        drawn = spectrograms.draw(name, levels[name], 8000, 16000).svg
        png = re.search(r"data:image/png;base64,([^\"]+)", drawn)[1]
        png = io.BytesIO(base64.b64decode(png))
        pictures.append(image.imread(png)[..., :3])
    loud, soft = pictures
    assert loud.shape == soft.shape == (257, 51, 3)
    assert loud.max() > 0.95 and soft.max() < loud.max()
    # sin(n) is at 1 of pi: the frequency axis points upwards, unless the
    # picture is turned over where it is drawn.
    row = loud[:, 25].sum(axis=-1).argmax()
    turned = re.search(r"matrix\(\S+ 0 0 -", drawn)
    row = 256 - row if turned else row
    assert row == pytest.approx(257 * 0.682, abs=3)


def test_examples_without_files(se):
    (se / "examples" / "1_clean.wav").unlink()
    (se / "examples" / "2_noisy.wav").write_text("no audio")
    page = written(se)
    assert "The clean recording is missing" in page.text
    assert "The noisy recording is missing or damaged" in page.text
    assert len(page.all("audio")) == len(page.all("image")) == 4
