"""The report's pictures: curves, confusion matrix, spectrograms."""

import base64
import csv
import io
import json
import math
import re
import sys

import numpy as np
import pytest

from tests.recipes import fake_run
from tests.recipes.report_page import written
from training.report import charts
from training.report import listening

pytestmark = pytest.mark.any_backend


def test_curves_hold_the_metrics(kws):
    rows = list(csv.DictReader((kws / "metrics.csv").open()))
    shown = written(kws).charts()
    for title, columns, factor, digits in (
        ("Loss", ("loss", "val_loss"), 1, 3),
        ("Accuracy in %", ("accuracy", "val_accuracy"), 100, 2),
        ("Effective products in M MAC/s", ("effective_macs",), 1e-6, 3),
        ("Learning rate", ("learning_rate",), 1, 5),
    ):
        chart = shown.pop(title)
        assert len(chart["series"]) == len(columns)
        for (_, values), column in zip(chart["series"], columns):
            np.testing.assert_allclose(
                [float(v.replace("\N{MINUS SIGN}", "-")) for v in values],
                [factor * float(row[column]) for row in rows],
                atol=10.0**-digits,
            )
    names = [name for name, _ in shown["Occupancy in %"]["series"]]
    assert names == ["all layers", "recurrent_1", "recurrent_2"]


def test_unknown_columns(tmp_path):
    rows = [
        {"epoch": i, "val_wer": 0.5, "wer": 0.25, "note": "warm", "lr2": i}
        for i in (1, 2, 3)
    ]
    page = written(tmp_path, rows=rows)
    shown = page.charts()
    assert list(shown) == ["Wer", "Lr2"]
    names = [name for name, _ in shown["Wer"]["series"]]
    assert names == ["training", "validation"]
    assert "warm" in page.text


def test_occupancy_over_time(kws):
    layers = json.loads((kws / "profile.json").read_text())["layers"]
    shown = written(kws).charts()
    for layer in layers[:2]:
        series = shown[f"{layer['name']} ({layer['kind']}), in %"]["series"]
        for (name, values), operand in zip(series, layer["operands"]):
            assert name == operand["name"]
            np.testing.assert_allclose(
                np.array(values, "float"),
                100 * np.array(operand["over_time"]),
                atol=0.051,
            )


def test_long_curves_are_thinned():
    values, size = charts.thin([0.0, 1.0] * 500 + [math.nan] * 4, most=500)
    assert size == 3 and len(values) <= 500
    assert values[0] == pytest.approx(1 / 3)
    assert values[-1] is None
    assert charts.thin([1.0, 2.0]) == ([1.0, 2.0], 1)


def test_points_lie_where_their_values_are():
    """Higher values are further up, later ones further right."""
    found = charts.line_chart(
        "t", [1, 2, 3], [charts.Series("s", [0.0, 10.0, 5.0])], "x", str
    )
    points = re.search(r' points="([^"]+)"', found)[1].split()
    (x1, y1), (x2, y2), (x3, y3) = (map(float, p.split(",")) for p in points)
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.2) and x1 < x2
    assert y3 == pytest.approx((y1 + y2) / 2, abs=0.2) and y2 < y3 < y1


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 100, [0, 20, 40, 60, 80, 100]),
        (0.37, 0.5, [0.375, 0.4, 0.425, 0.45, 0.475, 0.5]),
        (-1.2, 3.4, [-1, 0, 1, 2, 3]),
        (0, 2e-5, [0, 5e-6, 1e-5, 1.5e-5, 2e-5]),
        (3, 3, [3]),
    ],
)
def test_ticks(low, high, expected):
    assert charts.ticks(low, high) == expected


def test_confusion_of_35_labels(kws):
    counts = np.diag(np.full(35, 20))
    counts[7, 3] = 5
    counts[8, 2] = 4
    fake_run.write_confusion(kws / "confusion.csv", fake_run.WORDS, counts)
    page = written(kws)
    right = page.all("rect", **{"class": "right"})
    wrong = page.all("rect", **{"class": "wrong"})
    assert (len(right), len(wrong)) == (35, 2)
    words = fake_run.WORDS
    assert wrong[0]["data-tip"] == (
        f"{words[7]} → {words[3]}: 5 of 25 (20.0\xa0%)"
    )
    assert float(wrong[0]["fill-opacity"]) > float(wrong[1]["fill-opacity"])
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
    assert len(page.all("rect", **{"class": "right"})) == 2


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
    assert "PESQ-WB 1.50 2.20" in page.text


def test_spectrogram_of_a_tone():
    tone = np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000)
    levels = listening.spectrogram(tone)
    assert levels.shape == (257, 101)
    assert (levels[:, 5:-5].argmax(axis=0) == 32).all()  # 1000 of 16000 Hz


def test_spectrograms_share_one_scale():
    from matplotlib import image

    tone = np.sin(np.arange(8000))
    found = listening.spectrograms({"loud": tone, "soft": 0.01 * tone})
    loud, soft = (
        image.imread(io.BytesIO(found[n]))[..., :3] for n in ("loud", "soft")
    )
    assert loud.shape == soft.shape == (257, 51, 3)
    assert loud.max() > 0.95 and soft.max() < loud.max()
    # sin(n) is at 1 of pi: the frequency axis points upwards.
    assert loud[:, 25].sum(axis=-1).argmax() == pytest.approx(
        257 * 0.682, abs=3
    )


def test_examples_without_files_or_matplotlib(se, monkeypatch):
    (se / "examples" / "1_clean.wav").unlink()
    (se / "examples" / "2_noisy.wav").write_text("no audio")
    page = written(se)
    assert "The clean recording is missing" in page.text
    assert "The noisy recording is missing or damaged" in page.text
    assert len(page.all("audio")) == 4
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = written(se)
    assert "pip install keras-duspar[plot]" in page.text
    assert len(page.all("audio")) == 4 and not page.all("image")
