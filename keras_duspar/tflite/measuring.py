"""How fast `.tflite` files run."""

import os
import time
from dataclasses import dataclass

import numpy as np

from keras_duspar.tflite.runner import Runner
from keras_duspar.utils import checks
from keras_duspar.utils.tables import percent
from keras_duspar.utils.tables import text_table

WARM_UP = 0.1  # share of the runs that are not counted


@dataclass
class Measurement:
    """How fast a file ran.

    Attributes:
        path: String, the file.
        runner: The `Runner`, with the counters of what was run.
        times: Array of seconds of the interpreter's `invoke()`, for every
            run of a chunk (a streaming file) or of the whole input.
        python: Array of seconds that Python adds to every run: copies in and
            out, and the calls themselves. An app in C does without most.
        frames: Float, the frames (or time steps) in one run.
        seconds: Float, the real time that one run stands for, or `None`.
        num_threads: Integer, threads of built-in operators.
    """

    path: str
    runner: Runner
    times: np.ndarray
    python: np.ndarray
    frames: float
    seconds: float
    num_threads: int

    @property
    def median(self):
        """Median seconds per frame."""
        return float(np.median(self.times)) / self.frames

    @property
    def p99(self):
        """The 99th percentile of seconds per frame."""
        return float(np.percentile(self.times, 99)) / self.frames

    @property
    def python_median(self):
        """Median seconds per frame that Python adds."""
        return float(np.median(self.python)) / self.frames

    @property
    def real_time_factor(self):
        """Median time over the time that it stands for, or `None`."""
        if self.seconds is None:
            return None
        return float(np.median(self.times)) / self.seconds

    @property
    def occupancy(self):
        """Effective over dense MACs, or `nan` if they are not counted."""
        try:
            return self.runner.profile().occupancy
        except ValueError:
            return float("nan")

    def to_dict(self):
        """The figures as plain numbers and strings."""
        occupancy = self.occupancy
        return {
            "path": self.path,
            "ops": self.runner.ops,
            "weights": self.runner.weights,
            "bytes": self.runner.file.size,
            "threads": self.num_threads,
            "runs": len(self.times),
            "frames_a_run": self.frames,
            "median_us": 1e6 * self.median,
            "p99_us": 1e6 * self.p99,
            "python_us": 1e6 * self.python_median,
            "real_time_factor": self.real_time_factor,
            "occupancy": None if np.isnan(occupancy) else occupancy,
        }


def measure(paths, audio=None, seconds=5.0, num_threads=1):
    """Measures how fast files run.

    Timed is the interpreter's `invoke()`, and apart from it what Python adds
    to it. Several files take turns, run by run, so that whatever else the
    machine does slows down all of them alike.

    Args:
        paths: Path of a `.tflite` file, or a list of paths.
        audio: Array of samples to run on, repeated as needed, or `None` for
            noise. Occupancy, and with it the speed of sparse operators,
            depends on the input. Default: `None`.
        seconds: Float, how long to measure each file. Default: 5.
        num_threads: Positive integer, threads of built-in operators.
            Default: 1.

    Returns:
        A list of `Measurement`, one for each path.
    """
    seconds = checks.number("seconds", seconds, "(0, inf)")
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    lanes = [_Lane(Runner(p, num_threads=num_threads), audio) for p in paths]
    for lane in lanes:
        lane.run()  # memory is touched for the first time
        lane.runner.reset_counters()
    end = time.perf_counter() + seconds * len(lanes)
    while time.perf_counter() < end or len(lanes[0].times) < 10:
        for lane in lanes:
            lane.run()
    measured = []
    for path, lane in zip(paths, lanes):
        times = np.array(lane.times[1:])
        times, python = times[int(WARM_UP * len(times)) :].T
        rates = (lane.frames, lane.seconds, num_threads)
        measured.append(
            Measurement(str(path), lane.runner, times, python, *rates)
        )
    return measured


class _Lane:
    """A file and the input that it runs through, again and again."""

    def __init__(self, runner, audio):
        self.runner, self.times = runner, []
        self._invoke, runner._run = runner._run, self._timed
        if len(runner.inputs) != 1:
            raise ValueError(
                f"`paths` must be files with one input. Received: "
                f"{runner.path!r} with inputs {sorted(runner.inputs)}."
            )
        shape = next(iter(runner.inputs.values()))
        is_audio = len(shape) == 2
        size = (runner.sample_rate if is_audio else None) or 64
        if audio is None:
            rng = np.random.default_rng(0)
            scale = 0.1 if is_audio else 1.0
            audio = rng.normal(0, scale, (4 * size, *shape[2:]))
        audio = np.asarray(audio, "float32")
        step = runner.samples or (size if shape[1] == -1 else shape[1])
        if audio.ndim != len(shape) - 1 or len(audio) < step:
            raise checks.bad_value(
                "audio", f"at least {step} samples or time steps long", audio
            )
        self._chunks = [
            np.ascontiguousarray(audio[np.newaxis, i : i + step])
            for i in range(0, len(audio) - step + 1, step)
        ]
        self._run = runner._step if runner.streaming else self._whole
        self.frames = step / (runner.hop if is_audio and runner.hop else 1)
        self.seconds = None
        if is_audio and runner.sample_rate:
            self.seconds = step / runner.sample_rate

    def _whole(self, x):
        return self.runner._run_whole({next(iter(self.runner.inputs)): x})

    def run(self):
        """Runs the next chunk and notes the times, inside and around."""
        chunk = self._chunks[len(self.times) % len(self._chunks)]
        start = time.perf_counter()
        self._run(chunk)
        whole = time.perf_counter() - start
        self.times.append((self._inside, whole - self._inside))

    def _timed(self):
        start = time.perf_counter()
        self._invoke()
        self._inside = time.perf_counter() - start


def measurement_table(measurements):
    """The table of measurements, the first one compared with the others.

    Args:
        measurements: List of `Measurement`.

    Returns:
        A string.
    """
    first = measurements[0]
    rows = []
    for m in measurements:
        pairs = min(len(first.times), len(m.times))
        ratio = np.median(
            (m.times[:pairs] / m.frames) / (first.times[:pairs] / first.frames)
        )
        factor = m.real_time_factor
        row = {
            "file": m.path,
            "ops": str(m.runner.ops),
            "weights": str(m.runner.weights),
            "KB": f"{m.runner.file.size / 1000:,.1f}",
            "threads": str(m.num_threads),
            "median us/frame": f"{1e6 * m.median:,.1f}",
            "p99": f"{1e6 * m.p99:,.1f}",
            "Python's": f"{1e6 * m.python_median:,.1f}",
            "of real time": "" if factor is None else percent(factor),
            "occupancy": percent(m.occupancy),
            "times the first": f"{ratio:.2f}",
        }
        rows.append(tuple(row.values()))
    return text_table(tuple(row), rows, left=("file", "ops", "weights"))
