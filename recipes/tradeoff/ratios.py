"""How many times cheaper one model is than another that is as good."""

import dataclasses
import math

import numpy as np

from pages import formats

PAIR = ("duspar", "spar")
DRAWS = 1000
# Of the draws, those between these percentiles: a standard deviation.
INTERVAL = (16, 84)


@dataclasses.dataclass(frozen=True)
class Ratio:
    """The costs of two models at one performance.

    Attributes:
        level: Float, the performance.
        costs: Two floats, those of the first model and of the second.
        bound: String, `""`, or `"at least"` or `"at most"` where one of the
            curves does not go down to `level`, so that its cheapest point
            stands for it.
        interval: Two floats that the ratio lies between, or `None` where
            every point has one seed.
    """

    level: float
    costs: tuple
    bound: str
    interval: tuple | None

    @property
    def value(self):
        """The cost of the second model over that of the first."""
        return self.costs[1] / self.costs[0]

    def text(self):
        """The ratio for the reader, with its uncertainty."""
        found = f"{self.bound} {self.value:.3g}×".strip()
        if self.interval:
            low, high = (formats.number(v, ".3g") for v in self.interval)
            return f"{found} ({low} to {high})"
        return f"{found} (one seed)"


def reach(costs, scores, level):
    """The cost at which a curve first reaches a performance.

    Between two points the performance is taken as linear in the logarithm of
    the cost.

    Args:
        costs: Sequence of floats, rising.
        scores: Sequence of floats.
        level: Float.

    Returns:
        The cost, or `None` if the curve does not reach it; and whether even
        its cheapest point is better.
    """
    if scores[0] >= level:
        return costs[0], scores[0] > level
    for i in range(1, len(costs)):
        if scores[i] >= level:
            share = (level - scores[i - 1]) / (scores[i] - scores[i - 1])
            low, high = math.log(costs[i - 1]), math.log(costs[i])
            return math.exp(low + share * (high - low)), False
    return None, False


def compare(first, second, level=None):
    """The costs of two curves at the best performance that both reach.

    Args:
        first: Costs and scores of a curve, two sequences.
        second: The same of the other curve.
        level: Float, another performance. Default: `None`.

    Returns:
        `(level, costs, bound)` as in `Ratio`, or `None` if one of the curves
        does not reach the level.
    """
    sides = []
    for costs, scores in (first, second):
        order = np.argsort(costs)
        sides.append((np.asarray(costs)[order], np.asarray(scores)[order]))
    if level is None:
        level = min(scores.max() for _, scores in sides)
    found = [reach(*side, level) for side in sides]
    if None in (found[0][0], found[1][0]):
        return None
    bound = {
        (True, False): "at least",
        (False, True): "at most",
        (True, True): "about",
    }.get((found[0][1], found[1][1]), "")
    return float(level), (float(found[0][0]), float(found[1][0])), bound


def ratio(first, second, cost, score, spread, at=None):
    """The ratio of the costs of two curves, with its uncertainty.

    Args:
        first: A `points.Curve`.
        second: The one that it is compared with.
        cost: `Axis` of the cost.
        score: `Axis` of the performance.
        spread: `(score, log cost)`, from `spread()`, or `None`.
        at: `Point` of the second curve whose performance is the level.
            Default: `None`, the best that both reach.

    Returns:
        A `Ratio`, or `None` if there is no such performance.
    """
    places = [first.place(cost, score), second.place(cost, score)]
    if not all(places):
        return None
    sides = [tuple(zip(*((x, y) for x, y, _ in side))) for side in places]
    index = None
    if at is not None:
        index = [p for _, _, p in places[1]].index(at)
    found = compare(*sides, None if index is None else sides[1][1][index])
    if found is None:
        return None
    interval = None
    if spread is not None:
        counts = [[len(p.values(score)) for _, _, p in s] for s in places]
        interval = _interval(sides, counts, spread, index)
    return Ratio(*found, interval)


def spread(curves, cost, score):
    """The standard deviations of a single trial, pooled over all points.

    Two or three seeds say little about the deviation of one point; those of
    all points together do, if it is taken as the same for all.

    Returns:
        That of the performance and that of the logarithm of the cost; or
        `None` if every point has a single seed.
    """
    squares, freedom = np.zeros(2), 0
    for point in (p for curve in curves for p in curve.points):
        scores, costs = point.values(score), point.values(cost)
        if len(scores) > 1 and len(costs) == len(scores):
            deviations = np.std([scores, np.log(costs)], axis=1)
            squares += len(scores) * deviations**2
            freedom += len(scores) - 1
    return tuple(np.sqrt(squares / freedom)) if freedom else None


def _interval(sides, counts, spread, index):
    """Where the ratio lies if each mean is off as its spread says."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(DRAWS):
        drawn = []
        for (costs, scores), count in zip(sides, counts):
            noise = rng.normal(size=(2, len(costs))) / np.sqrt(count)
            drawn.append(
                (
                    np.asarray(costs) * np.exp(noise[0] * spread[1]),
                    np.asarray(scores) + noise[1] * spread[0],
                )
            )
        level = None if index is None else drawn[1][1][index]
        result = compare(*drawn, level)
        if result is not None:
            found.append(result[1][1] / result[1][0])
    if not found:
        return None
    return tuple(float(v) for v in np.percentile(found, INTERVAL))
