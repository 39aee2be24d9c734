"""Lanes take turns; their times and what can be said of them."""

import numpy as np

# Frames of a turn: for the caches, which belonged to another, and timed.
WARM_UP = STEPS = 64
# A turn's figure is the median over groups of so many frames, in which every
# layer behind a pool runs equally often.
GROUP = 4
STATISTICS = ("median", "least")


def measure(lanes, rounds, statistic="median"):
    """Runs all lanes in turn and returns their figures.

    Args:
        lanes: List of lanes.
        rounds: Integer, turns of each.
        statistic: What is reported of the turns, one of `STATISTICS`: the
            least is what a busy machine disturbs least.

    Returns:
        A list of dictionaries, in the order of the lanes.
    """
    for lane in lanes:
        lane.run(STEPS)
    for _ in range(rounds):
        for lane in lanes:
            lane.run(WARM_UP)
            groups = [lane.run(GROUP) for _ in range(STEPS // GROUP)]
            lane.times.append(float(np.median(groups)) / 1000)
    return [figures(lane, statistic) for lane in lanes]


def figures(lane, statistic):
    """Microseconds per frame of a lane: `us`, and more of its turns."""
    low, median, high = np.percentile(lane.times, (25, 50, 75))
    found = {
        "low_us": low,
        "median_us": median,
        "high_us": high,
        "least_us": min(lane.times),
    }
    found["us"] = found[f"{statistic}_us"]
    return {
        "name": lane.name,
        **lane.labels,
        "occupancy": lane.occupancy(),
        **{name: round(float(value), 4) for name, value in found.items()},
        "times_us": [round(t, 4) for t in lane.times],
    }


def ratio(slower, faster, less=None):
    """How many times as long one takes, with the spread over the rounds.

    Args:
        slower: Figures of the one.
        faster: Figures of the other, of the same rounds.
        less: Figures of what both contain and is taken off, or `None`.

    Returns:
        The ratio of what is reported, and the first and third quartile of the
        ratios of the rounds.
    """
    off = 0 if less is None else less["us"]
    above, below = slower["us"] - off, faster["us"] - off
    rounds = (np.array(slower["times_us"]) - off) / np.maximum(
        np.array(faster["times_us"]) - off, 1e-3
    )
    low, high = np.percentile(rounds, (25, 75))
    return above / max(below, 1e-3), float(low), float(high)
