"""Lanes take turns; their times and what can be said of them."""

import numpy as np

# Frames of a turn: for the caches, which belonged to another, and timed.
WARM_UP = STEPS = 64


def measure(lanes, rounds):
    """Runs all lanes in turn and returns their figures.

    Args:
        lanes: List of lanes.
        rounds: Integer, turns of each.

    Returns:
        A list of dictionaries, in the order of the lanes.
    """
    for lane in lanes:
        lane.run(STEPS)
    for _ in range(rounds):
        for lane in lanes:
            lane.run(WARM_UP)
            lane.times.append(lane.run(STEPS) / 1000)
    return [figures(lane) for lane in lanes]


def figures(lane):
    """Microseconds a frame of a lane: median, quartiles, least, all."""
    low, median, high = np.percentile(lane.times, (25, 50, 75))
    return {
        "name": lane.name,
        **lane.labels,
        "occupancy": lane.occupancy(),
        "median_us": round(float(median), 4),
        "low_us": round(float(low), 4),
        "high_us": round(float(high), 4),
        "least_us": round(float(min(lane.times)), 4),
        "times_us": [round(t, 3) for t in lane.times],
    }


def ratio(slower, faster, less=None):
    """How many times as long one takes, with the spread over the rounds.

    Args:
        slower: Figures of the one.
        faster: Figures of the other, of the same rounds.
        less: Figures of what both contain and is taken off, or `None`.

    Returns:
        The ratio of the medians, and the first and third quartile of the
        ratios of the rounds.
    """
    off = 0 if less is None else less["median_us"]
    above, below = slower["median_us"] - off, faster["median_us"] - off
    rounds = (np.array(slower["times_us"]) - off) / np.maximum(
        np.array(faster["times_us"]) - off, 1e-3
    )
    low, high = np.percentile(rounds, (25, 75))
    return above / max(below, 1e-3), float(low), float(high)
