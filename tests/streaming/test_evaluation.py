"""Misses and false alarms, counted where they are known."""

import numpy as np
import pytest

from keras_duspar.streaming.detector import detector_settings
from keras_duspar.streaming.evaluation import Evaluation
from keras_duspar.streaming.evaluation import Spoken

pytestmark = pytest.mark.any_backend

LABELS = ["yes", "no", "unknown"]
SECONDS = 0.1


def make_stream(bursts, steps=9000):
    """Scores of a quarter of an hour in which some steps are of a class.

    Args:
        bursts: List of class, first step, and probability of the class for
            five steps.
    """
    scores = np.zeros((steps, 3))
    scores[:, 2] = 5
    for index, start, share in bursts:
        # Two others of equal score share the rest.
        scores[start : start + 5] = 0
        scores[start : start + 5, index] = np.log(2 * share / (1 - share))
    return scores


def evaluate(bursts, spoken, smoothing=0.0, **thresholds):
    settings = detector_settings(LABELS, 1.0, thresholds, smoothing, 1.0)
    spoken = [Spoken(word, start, start + 1) for word, start in spoken]
    return Evaluation(LABELS, settings, SECONDS, make_stream(bursts), spoken)


BURSTS = [
    (0, 1000, 0.9),  # yes at 100 s, which is spoken
    (0, 2000, 0.7),  # not spoken
    (0, 3000, 0.95),  # spoken, heard as late as may be
    (1, 4000, 0.99),  # no where yes is spoken: a miss and a false alarm
    (1, 5000, 0.85),  # spoken
    (0, 6000, 0.8),  # not spoken
    (0, 6005, 0.85),  # goes on: the same alarm
    (0, 8000, 0.6),  # not spoken
]
SPOKEN = [("yes", 99.5), ("yes", 298.15), ("yes", 399.5), ("no", 499.5)]


def test_peaks():
    found = evaluate(BURSTS, SPOKEN).peaks()
    np.testing.assert_allclose(found["yes"][0], [0.9, 0.95, 0], atol=1e-6)
    np.testing.assert_allclose(found["yes"][1], [0.7, 0.85, 0.6], atol=1e-6)
    np.testing.assert_allclose(found["no"][0], [0.85], atol=1e-6)
    np.testing.assert_allclose(found["no"][1], [0.99], atol=1e-6)
    assert set(found) == {"yes", "no"}


def test_counts():
    evaluation = evaluate(BURSTS, SPOKEN, yes=0.65, no=0.9)
    hours = 0.25 - 4 / 3600
    assert evaluation.hours == pytest.approx(hours)
    found = evaluation.count()
    assert found["yes"] == {
        "spoken": 3,
        "hits": 2,
        "alarms": 2,
        "missed": pytest.approx(1 / 3),
        "per_hour": pytest.approx(2 / hours),
    }
    assert (found["no"]["hits"], found["no"]["alarms"]) == (0, 1)
    lower = evaluation.count({"yes": 0.55, "no": 0.8})
    assert (lower["yes"]["alarms"], lower["no"]["hits"]) == (3, 1)


@pytest.mark.parametrize("rate, alarms", [(0.8, 0), (4.8, 1), (8.8, 2)])
def test_chosen_thresholds_keep_the_rate(rate, alarms):
    evaluation = evaluate(BURSTS, SPOKEN)
    chosen = evaluation.choose(rate)
    found = evaluation.count(chosen)
    assert found["yes"]["alarms"] == alarms
    assert all(c["per_hour"] <= rate for c in found.values())
    # Any lower, and there would be one more.
    if alarms < 2:
        lower = evaluation.count({**chosen, "yes": chosen["yes"] - 1e-6})
        assert lower["yes"]["alarms"] == alarms + 1
    assert evaluate([], SPOKEN).choose(rate) == {"yes": 0.5, "no": 0.5}


def test_smoothing_is_the_detectors():
    """The peaks, and the thresholds at which the detector stops hearing."""
    evaluation = evaluate(BURSTS, SPOKEN, smoothing=0.3)
    for word, (hits, _) in evaluation.peaks().items():
        for share in hits[hits > 0]:
            below, above = (
                evaluation.count({word: share + d})[word]["hits"]
                for d in (-1e-9, 1e-9)
            )
            assert below == above + 1


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "det.png"
    evaluate(BURSTS, SPOKEN).plot(path, 0.5)
    assert path.read_bytes()[:4] == b"\x89PNG"
