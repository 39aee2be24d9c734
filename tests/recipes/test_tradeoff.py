"""The figure of a sweep: curves with known answers, and its files."""

import csv
import re

import numpy as np
import pytest

from tests.recipes import fake_sweep

pytestmark = pytest.mark.any_backend


@pytest.fixture
def task():
    """A function that makes the `TaskCurves` of made-up rows."""
    from tradeoff.task_curves import TaskCurves

    def make(*arguments, parameters=None, **options):
        return TaskCurves(fake_sweep.rows(*arguments, **options), parameters)

    return make


@pytest.fixture
def axes():
    from tradeoff import points

    return points.COSTS[0], next(points.score_axes("kws"))


def write(path, rows):
    with open(path, "w", newline="") as file:
        columns = dict.fromkeys(key for row in rows for key in row)
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_points_are_means_over_seeds(task, axes):
    made = task(seeds=(0, 1, 2))
    cost, score = axes
    (curve,) = [c for c in made.curves if c.model == "gru"]
    assert [p.units for p in curve.points] == list(fake_sweep.WIDTHS)
    values = [
        100 * row["test/accuracy"]
        for row in made.rows
        if (row["model"], row["units"]) == ("gru", 64)
    ]
    point = made.find("gru", 64)
    assert point.mean(score) == pytest.approx(np.mean(values))
    assert point.deviation(score) == pytest.approx(np.std(values, ddof=1))
    assert point.mean(cost) == pytest.approx(590 * 64**2 / 1e6)
    assert point.deviation(cost) == pytest.approx(0, abs=1e-12)


def test_first_options_of_a_model_are_its_curve(task):
    rows = fake_sweep.rows(models={"delta_gru": fake_sweep.MODELS["delta_gru"]})
    other = [{**row, "options": '{"theta": 0.02}'} for row in rows]
    from tradeoff import points

    first, second = points.curves(rows + other)
    assert first.main and not second.main
    assert first.name == "Delta-GRU"
    assert second.name == "Delta-GRU (theta 0.02)"


def test_budgets_are_a_curve_of_their_width(task, axes, tmp_path):
    from tradeoff import panels
    from tradeoff.task_curves import TaskCurves

    rows = fake_sweep.rows(models={"duspar": fake_sweep.MODELS["duspar"]})
    tuned = [
        {**row, "budget": budget, "effective_macs": budget * row["dense_macs"]}
        for row in rows
        for budget in (0.35, 0.2)
        if row["units"] == 128
    ]
    made = TaskCurves([*rows, *tuned])
    widths, budgets = made.curves
    assert widths.main and [p.units for p in widths.points] == list(
        fake_sweep.WIDTHS
    )
    assert budgets.name == "DuSpaR 128 at budgets" and not budgets.main
    assert [p.budget for p in budgets.points] == ["0.2", "0.35", None]
    assert budgets.points[0].name == "DuSpaR 128 at 0.2"
    assert len(budgets.points[0].rows) == 3
    paths = panels.draw([made], tmp_path / "figure")
    text = paths[1].read_text()
    assert 'id="curve-0"' in text and 'id="curve-1"' in text


def test_ratio_of_lines_is_known(task, axes):
    """Lines of one slope, six points apart: ten times the cost."""
    made = task(noise=0)
    ratio = made.pair(*axes)
    assert ratio.value == pytest.approx(10)
    assert ratio.bound == ""
    spar = made.find("spar", 192)
    assert ratio.level == pytest.approx(spar.mean(axes[1]))
    assert ratio.costs[1] == pytest.approx(spar.mean(axes[0]))


def test_ratio_lies_in_its_interval_about_twice_in_three(task, axes):
    pair = {name: fake_sweep.MODELS[name] for name in ("duspar", "spar")}
    intervals = [
        task(models=pair, noise=0.004, draw=draw).pair(*axes).interval
        for draw in range(24)
    ]
    right = sum(low < 10 < high for low, high in intervals)
    assert 12 <= right <= 21


def test_uncertainty_shrinks_with_seeds(task, axes):
    few, many = (
        task(seeds=range(n), noise=0.004).pair(*axes).interval for n in (2, 32)
    )
    # The standard error falls by four.
    assert 2.5 < (few[1] - few[0]) / (many[1] - many[0]) < 6


def test_ratio_of_a_single_seed_has_none(task, axes):
    ratio = task(seeds=(0,)).pair(*axes)
    assert ratio.interval is None and "one seed" in ratio.text()


def test_ratio_where_curves_do_not_overlap(task, axes):
    models = {
        "duspar": ({}, 260, 0.99, 0.06),
        "spar": ({}, 130, 0.70, 0.06),
    }
    ratio = task(models=models, noise=0).pair(*axes)
    assert ratio.bound == "at least"
    assert ratio.value == pytest.approx(130 * 192**2 / (260 * 32**2))
    assert task(models={"duspar": models["duspar"]}).pair(*axes) is None


def test_reach():
    from tradeoff.ratios import reach

    costs, scores = (1.0, 10.0, 100.0), (1.0, 3.0, 2.0)
    assert reach(costs, scores, 2.0) == (pytest.approx(10**0.5), False)
    assert reach(costs, scores, 3.0) == (pytest.approx(10), False)
    assert reach(costs, scores, 0.5) == (1.0, True)
    assert reach(costs, scores, 4.0) == (None, False)


def test_stars_have_equal_parameters(task):
    stars = {(p.model, p.units) for p in task().stars}
    assert ("duspar", 128) in stars and len(stars) == len(fake_sweep.MODELS)
    assert not task(parameters=12345678).stars


def star_count(page):
    """How many stars the charts of a page have: shapes of ten corners."""
    shapes = {
        name
        for name, path in re.findall(r'<path id="(\w+)" d="([^"]+)"', page)
        if len(re.findall("[ML]", path)) == 10 and "C" not in path
    }
    return sum(page.count(f'xlink:href="#{name}"') for name in shapes)


def test_files(tmp_path, capsys):
    import report

    rows = {t: fake_sweep.rows(t) for t in ("kws", "se")}
    for row in rows["se"]:
        row.pop("ms_per_frame")  # a sweep that was not measured yet
    paths = [str(write(tmp_path / f"{t}.csv", r)) for t, r in rows.items()]
    assert report.main([*paths, "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert (
        "| DuSpaR | 128 | the paper's | 5 | 103.7\N{NO-BREAK SPACE}K" in shown
    )
    assert "93.72\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.06" in shown
    assert "| DuSpaR | 128 | ours | 3 | 103,700" in shown
    out = tmp_path / "out"
    assert (out / "tradeoff.png").read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in (out / "tradeoff.svg").read_text()
    page = (out / "tradeoff.html").read_text()
    for model in ("DuSpaR", "SpaR", "GRU", "minGRU", "Delta-GRU", "D-GRU"):
        assert f"</i>{model}</button>" in page
    # Nothing comes from elsewhere.
    assert not re.search(
        r"""(src|href)=["']?(https?:)?//|@import|url\((?!#)""", page
    )
    assert "made-up data" in page and "the paper&#39;s" in page
    # A star for each model on each of the two charts of one task.
    assert star_count(page) == 2 * len(fake_sweep.MODELS)
    # One chart of enhancement per metric, as there are no times.
    assert page.count('class="chart tradeoff"') == 2 + 3


@pytest.mark.parametrize(
    "seeds, words",
    [
        ((0,), "one seed per point, there are no error bars"),
        ((0, 1), "2 seeds per point, bars are standard deviations over seeds."),
    ],
)
def test_page_says_what_the_bars_are(tmp_path, seeds, words):
    import report

    path = write(tmp_path / "results.csv", fake_sweep.rows(seeds=seeds))
    assert report.main([str(path)]) == 0
    page = (tmp_path / "tradeoff.html").read_text()
    assert words in page
    assert ("its uncertainty is not known" in page) == (len(seeds) == 1)
    assert ("(one seed)" in page) == (len(seeds) == 1)


def test_sweep_that_was_stopped_half_way(tmp_path, axes):
    """Points, times and seeds that are missing leave the others alone."""
    import report
    from tradeoff import points

    def there(row):
        if row["model"] == "spar":
            return row["units"] < 64
        if row["model"] == "delta_gru":
            return row["units"] == 32
        return row["model"] != "mingru" and row["seed"] == 0

    whole = fake_sweep.rows(seeds=(0, 1))
    rows = [row for row in whole if there(row)]
    failed = {"status": "failed", "task": "kws", "model": "gru", "units": 32}
    for row in rows:
        del row["ms_per_frame"]
    path = write(tmp_path / "results.csv", [*rows, failed])
    assert report.main([str(path)]) == 0
    page = (tmp_path / "tradeoff.html").read_text()
    # No chart of times, and no curve of what was not trained.
    assert page.count('class="chart tradeoff"') == 1
    assert "minGRU</button>" not in page
    assert "1 to 2 seeds per point" in page
    score = axes[1]
    found = {
        (p.model, p.units): p
        for curve in points.curves(points.read(path))
        for p in curve.points
    }
    for row in rows:
        point = found[row["model"], row["units"]]
        values = [
            100 * other["test/accuracy"]
            for other in rows
            if (other["model"], other["units"]) == (row["model"], row["units"])
        ]
        assert point.mean(score) == pytest.approx(np.mean(values))


@pytest.mark.parametrize(
    "rows, words",
    [
        ([], "has no finished trial"),
        ([{"status": "failed", "task": "kws"}], "has no finished trial"),
        ([{"status": "finished", "task": "kws"}], "is no table of a sweep"),
    ],
)
def test_bad_tables(tmp_path, capsys, rows, words):
    import report

    path = write(tmp_path / "results.csv", rows)
    assert report.main([str(path)]) == 1
    assert words in capsys.readouterr().err


def test_bad_paths(tmp_path, capsys):
    import report

    assert report.main([str(tmp_path)]) == 1
    assert "`results` must be the folder of a sweep" in capsys.readouterr().err
    path = str(write(tmp_path / "results.csv", fake_sweep.rows()))
    assert report.main([path, path]) == 1
    assert "must be of different tasks" in capsys.readouterr().err
