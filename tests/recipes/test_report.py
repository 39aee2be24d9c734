"""The report shows what is in the files, whatever they hold."""

import csv
import json
import math
import re

import numpy as np
import pytest

import paper
from pages import comparison_page
from pages import run_page
from tests.recipes import fake_run
from tests.recipes.report_page import change_json
from tests.recipes.report_page import checked
from tests.recipes.report_page import written

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


@pytest.mark.parametrize("epochs", [1, 2, 200])
def test_any_number_of_epochs(tmp_path, epochs):
    page = written(fake_run.make_run(tmp_path, epochs=epochs))
    assert f"{epochs} of {epochs} epochs" in page.text
    chart = page.charts()["Loss"]
    assert len(chart["places"]) == epochs
    assert chart["places"][-1] == f"epoch {epochs}"


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
    assert page.charts()["Loss"]["training"][9] == "–"
    for path in page.all("path"):
        assert not re.search("nan|inf", path["d"])
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
        run_page.write(tmp_path / "nowhere")


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
    (matrix,) = page.all("svg", **{"class": "matrix"})
    tips = [point["tip"] for point in json.loads(matrix["data-points"])]
    assert f"{labels[0]} → {labels[1]}: 2 of 8 (25.0\xa0%)" in tips
    for text in (*labels, "../<i>x</i>", "preset <u>", "<b>metric"):
        assert text in page.text, text


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
    assert "scores below the noisy input" not in page.text
    assert "test STOI, noisy input 92.10 % 92.10 % 92.10 %" in page.text
    assert "test SI-SDR 16.20 dB 18.34 dB 18.43 dB" in page.text
    test = fake_run.scores(noisy=2.0, enhanced=1.5, count=160)
    change_json(se / "result.json", test=test)
    assert "scores below the noisy input in PESQ-WB." in written(se).text
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


def test_written_in_one_step(kws):
    (kws / "report.html").mkdir()
    before = sorted(kws.iterdir())
    with pytest.raises(OSError):
        run_page.write(kws)
    assert sorted(kws.iterdir()) == before


def test_compare(tmp_path, kws, se):
    gru = fake_run.make_run(tmp_path / "a gru", layer="gru", units=12, epochs=2)
    change_json(gru / "result.json", test={"accuracy": 0.5}, parameters=None)
    run_page.write(gru)
    (gru / "confusion.csv").unlink()
    path = comparison_page.compare(
        [kws, gru, se], tmp_path / "pages" / "compare.html"
    )
    page = checked(path)
    assert page.all("a") == [{"href": "../a%20gru/report.html"}]
    assert "DuSpaR 16 synthetic speech (kws) 0 30 92.53 %" in page.text
    assert "GRU 12 synthetic speech (kws) 0 2 50.00 %" in page.text
    assert "GRU 12: confusion.csv is missing" in page.text
    assert page.text.count("Synthetic speech") == 2
    assert "Speech enhancement" in page.text and "16.20 dB" in page.text
    widths = [found["style"] for found in page.all("i") if "style" in found]
    assert widths[:2] == ["width:92.53%", "width:50.00%"]
    assert "different data" not in page.text
    change_json(gru / "result.json", data="../words")
    change_json(gru / "config.json", quantize="int8")
    page = checked(
        comparison_page.compare([kws, gru], tmp_path / "compare.html")
    )
    assert "GRU 12 int8 ../words" in page.text
    assert "different data" in page.text


def test_compare_draws_curves_and_costs(tmp_path, kws):
    gru = fake_run.make_run(tmp_path / "gru", layer="gru", units=12, epochs=9)
    speeds = {kws: (0.031, 131000), gru: (0.06, 152000)}
    for folder, (time, size) in speeds.items():
        fake_run.write_json(
            folder / "speed.json", {"ms_per_frame": time, "file_bytes": size}
        )
    page = checked(
        comparison_page.compare([kws, gru], tmp_path / "compare.html")
    )
    for number in ("0.0310 ms", "0.0600 ms", "131 KB", "152 KB"):
        assert page.text.count(number) == 2, number  # a bar and the table
    rows = list(csv.DictReader((kws / "metrics.csv").open()))
    shown = page.charts()
    assert list(shown) == [
        "Loss, training",
        "Loss, validation",
        "Accuracy in %, validation",
    ]
    chart = shown["Accuracy in %, validation"]
    np.testing.assert_allclose(
        np.array(chart["DuSpaR 16"], "float"),
        [100 * float(row["val_accuracy"]) for row in rows],
        atol=0.0051,
    )
    assert len(chart["places"]) == 30
    assert chart["GRU 12"][8] != "–" and chart["GRU 12"][9:] == ["–"] * 21
    found = {}
    for svg in page.all("svg", **{"class": "chart"}):
        title = svg["aria-label"].split(":")[0]
        if " against " in title:
            points = json.loads(svg["data-points"])
            found[title] = [point["tip"].split("\n") for point in points]
    assert list(found) == [
        "Test accuracy in % against effective M MAC/s",
        "Test accuracy in % against measured time in ms per frame",
        "Test accuracy in % against size of model.tflite in KB",
    ]
    for tips in found.values():
        assert [tip[:2] for tip in tips] == [
            ["DuSpaR 16", "Test accuracy in %: 92.53"],
            ["GRU 12", "Test accuracy in %: 92.53"],
        ]
    times = list(found.values())[1]
    assert [tip[2].rpartition(" ")[2] for tip in times] == ["0.031", "0.06"]


@pytest.mark.parametrize("folders", [[], "runs", None])
def test_compare_needs_folders(tmp_path, folders):
    with pytest.raises(ValueError, match="`folders` must be a list of run"):
        comparison_page.compare(folders, tmp_path / "compare.html")
