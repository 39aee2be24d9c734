"""The report shows what is in the files, whatever they hold."""

import base64
import csv
import html.parser
import io
import json
import math
import re
import sys

import numpy as np
import pytest

from tests.recipes import fake_run
from training import paper
from training import report
from training.report import charts
from training.report import listening

pytestmark = pytest.mark.any_backend

FILES = {
    "kws": (
        "config.json",
        "environment.json",
        "metrics.csv",
        "profile.json",
        "result.json",
        "confusion.csv",
    ),
    "se": ("examples/examples.json", "result.json"),
}


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
        """What the charts show on hover, by the curves' last words."""
        return {
            found["aria-label"].split(":")[0]: json.loads(found["data-points"])
            for found in self.all("svg")
            if "data-points" in found
        }


def written(folder, **options):
    """The page of a run, after the checks that every page has to pass."""
    path = report.write(folder, **options)
    assert path == folder / "report.html"
    return checked(path)


def checked(path):
    page = Page(path)
    assert not re.search(r"https?://|@import|url\(", page.source)
    for _, attributes in page.elements:
        for name in ("src", "href", "xlink:href", "srcset"):
            assert not re.match(
                r"[a-z]+:(?<!data:)|//", attributes.get(name, "")
            )
    assert len(page.all("script")) == 1
    assert not page.all("link")
    assert "<generator" not in page.source
    return page


@pytest.fixture
def kws(tmp_path):
    return fake_run.make_run(tmp_path / "kws")


@pytest.fixture
def se(tmp_path):
    return fake_run.make_run(tmp_path / "se", "se", epochs=3)


def change_json(path, **values):
    content = json.loads(path.read_text())
    fake_run.write_json(path, {**content, **values})


def test_numbers_of_the_files(kws):
    change_json(
        kws / "result.json",
        parameters=103715,
        dense_macs=6424000.0,
        effective_macs=3167432.0,
        occupancy=0.49306,
    )
    page = written(kws)
    assert "Keyword spotting: DuSpaR 16" in page.text
    for number in (
        "92.53 %",
        "870 test recordings",
        "103,715",
        "49.3 %",
        "3.167 M MAC/s",
        "dense: 6.424 M MAC/s",
        "30 of 30 epochs",
        "best: epoch 24",
        "recipes/kws.py --units 16",
        "4e4a2e9",
    ):
        assert number in page.text, number
    layers = json.loads((kws / "profile.json").read_text())["layers"]
    for layer in layers:
        assert f"{layer['params']:,}" in page.text
        assert f"{layer['effective_macs'] / 1e6:.3f}" in page.text


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


@pytest.mark.parametrize("epochs", [1, 2, 200])
def test_any_number_of_epochs(tmp_path, epochs):
    page = written(fake_run.make_run(tmp_path, epochs=epochs))
    assert f"{epochs} of {epochs} epochs" in page.text
    chart = page.charts()["Loss"]
    assert len(chart["places"]) == epochs
    assert chart["names"][-1] == f"epoch {epochs}"
    assert len(page.all("circle")) > 0 or epochs == 200


def test_values_that_are_not_finite(kws):
    rows = list(csv.DictReader((kws / "metrics.csv").open()))
    for row in rows[9:12]:
        row["loss"] = "nan"
    rows[20]["val_loss"] = "inf"
    rows[3]["val_accuracy"] = ""
    fake_run.write_metrics(kws / "metrics.csv", rows)
    page = written(kws)
    assert "training: not finite at epoch 10, 11, 12." in page.text
    assert "validation: not finite at epoch 21." in page.text
    assert page.charts()["Loss"]["series"][0][1][9] == "–"
    for _, attributes in page.elements:
        for name in ("points", "cx", "cy", "y1"):
            assert not re.search("nan|inf", attributes.get(name, ""))
    rows = [{"epoch": i, "loss": math.nan} for i in range(5)]
    written(kws, rows=rows)


@pytest.mark.parametrize(
    ("task", "name"), [(t, n) for t, names in FILES.items() for n in names]
)
def test_a_file_is_missing(tmp_path, task, name):
    folder = fake_run.make_run(tmp_path / "run", task, epochs=2)
    assert "not complete" not in written(folder).text
    (folder / name).unlink()
    page = written(folder)
    assert "not complete" in page.text
    assert f"{name} is missing" in page.text
    if name != "metrics.csv":
        assert "Loss" in page.charts()


@pytest.mark.parametrize(
    "name", ["config.json", "metrics.csv", "confusion.csv", "profile.json"]
)
@pytest.mark.parametrize("content", ["", '{"a": [1, 2', "a,b\n1,2,3\n\xff\n"])
def test_a_file_is_damaged(kws, name, content):
    (kws / name).write_text(content, encoding="latin-1")
    page = written(kws)
    assert "Keyword" in page.text or name == "config.json"


def test_an_empty_folder(tmp_path):
    page = written(tmp_path)
    assert "No epoch has been completed" in page.text
    assert "result.json is missing" in page.text


def test_no_folder(tmp_path):
    with pytest.raises(ValueError, match="`folder` must be the folder of a"):
        report.write(tmp_path / "nowhere")


def test_escaping(tmp_path):
    labels = ["<script>alert(1)</script>", "a\"b'c&amp;", "</svg><b>", "ok"]
    folder = fake_run.make_run(
        tmp_path / "run", labels=labels, data="../<i>x</i>", preset="<u>"
    )
    counts = np.full((4, 4), 2)
    fake_run.write_confusion(folder / "confusion.csv", labels, counts)
    rows = [{"epoch": 1, "loss": 1, "<b>metric": 2}]
    page = written(folder, rows=rows)
    assert not page.all("u") and all(page.all("i"))  # ours have a class
    tips = [
        found["data-tip"] for found in page.all("rect", **{"class": "wrong"})
    ]
    assert f"{labels[0]} → {labels[1]}: 2 of 8 (25.0\xa0%)" in tips
    for text in (*labels, "../<i>x</i>", "preset <u>", "<b>metric"):
        assert text in page.text, text


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


def test_data_is_named(tmp_path):
    page = written(fake_run.make_run(tmp_path / "a"))
    assert "Synthetic speech" in page.text
    assert "data differ, so the test results are not comparable" in page.text
    page = written(fake_run.make_run(tmp_path / "b", data="../words"))
    assert "ynthetic" not in page.text
    assert "data: ../words" in page.text
    assert "comparable only if" in page.text
    change_json(tmp_path / "b" / "config.json", sizes=[100, 10, 10])
    page = written(tmp_path / "b")
    assert "used a part of its data only" in page.text


def test_the_papers_row(kws, se):
    page = written(kws)
    assert "the paper: DuSpaR 128 the paper: GRU 96" in page.text
    assert "test accuracy 92.53 % 93.72 % 93.10 %" in page.text
    assert "103.7 K 105.9 K" in page.text and "6.42 6.55" in page.text
    assert "widths differ" in page.text
    page = written(se)
    assert "test STOI, noisy input 92.10 % 92.10 % 92.10 %" in page.text
    assert "test SI-SDR 16.20 dB 18.34 dB 18.43 dB" in page.text
    change_json(kws / "config.json", model="spar")
    page = written(kws)
    assert "no row of this layer" in page.text


def test_paper_is_consistent():
    assert len(paper.ROWS) == 12
    for row in paper.ROWS:
        share = row.effective_macs / row.dense_macs
        assert share == pytest.approx(row.occupancy, abs=0.0025)
        assert paper.find(row.task, row.layer) is row
        for name in ("accuracy", "stoi"):
            assert 0.9 < row.metrics.get(name, 0.93) < 0.95
    assert paper.find("kws", "spar") is None


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


def test_written_in_one_step(kws):
    (kws / "report.html").mkdir()
    before = sorted(kws.iterdir())
    with pytest.raises(OSError):
        report.write(kws)
    assert sorted(kws.iterdir()) == before


def test_compare(tmp_path, kws, se):
    gru = fake_run.make_run(tmp_path / "a gru", layer="gru", units=12, epochs=2)
    change_json(gru / "result.json", test={"accuracy": 0.5}, parameters=None)
    report.write(gru)
    (gru / "confusion.csv").unlink()
    path = report.compare([kws, gru, se], tmp_path / "pages" / "compare.html")
    page = checked(path)
    assert page.all("a") == [{"href": "../a%20gru/report.html"}]
    assert "DuSpaR 16 synthetic speech (kws) 0 30 92.53 %" in page.text
    assert "GRU 12 synthetic speech (kws) 0 2 50.00 %" in page.text
    assert "GRU 12: confusion.csv is missing" in page.text
    assert page.text.count("Synthetic speech") == 2
    assert "Speech enhancement" in page.text and "16.20 dB" in page.text
    widths = [found["style"] for found in page.all("i")]
    assert widths[:2] == ["width:92.53%", "width:50.00%"]
    assert "different data" not in page.text
    change_json(gru / "result.json", data="../words")
    page = checked(report.compare([kws, gru], tmp_path / "compare.html"))
    assert "different data" in page.text


@pytest.mark.parametrize("folders", [[], "runs", None])
def test_compare_needs_folders(tmp_path, folders):
    with pytest.raises(ValueError, match="`folders` must be a list of run"):
        report.compare(folders, tmp_path / "compare.html")
