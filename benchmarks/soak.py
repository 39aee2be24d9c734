"""An hour of sound at full speed on four threads: memory, outputs, counters.

    python benchmarks/soak.py [--minutes 60] [--threads 4]

Every thread runs the streaming files of the presets, a keyword spotter and an
enhancer, on the same sound: noise that comes and goes, clipping, direct
current, what is not a number, 1e-30, and silence between them. All outputs, to
the last bit, and all counters must be those of one thread, and memory must not
grow after the first tenth. Prints what was found; the exit code is 1 if
anything is otherwise.
"""

import argparse
import hashlib
import json
import os
import sys
import threading
import time

import numpy as np

from keras_duspar import native
from keras_duspar import tflite
from keras_duspar.cli.trained import DEFAULTS
from keras_duspar.streaming import Detector

RATE = 16000
GROWTH = 1 << 20  # bytes that the allocator may round by


def resident():
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def second_of_sound(index):
    """One second, the same whenever it is asked for."""
    rng = np.random.default_rng(index)
    place = index + np.arange(RATE) / RATE
    sound = rng.normal(0, 0.1, RATE) * np.sin(1.7 * place) ** 2
    turn = index % 20
    if turn in (5, 6, 7):
        sound[:] = 0
    elif turn == 8:
        sound *= 1e6
    elif turn == 11:
        sound[:] = 1
    elif turn == 14:
        sound[::3], sound[1::3] = np.nan, np.inf
    elif turn == 17:
        sound[:] = 1e-30
    return sound.astype("float32")


class Listener:
    """The two files on one thread.

    Attributes:
        digests: Dictionary of the hashes of all that came out.
        counters: Dictionary of the counters at the end.
        words: Integer, events of the spotter.
        finite: Boolean, whether all that came out was.
    """

    def __init__(self):
        self.runners = {
            task: tflite.load(DEFAULTS[task], streaming=True)
            for task in ("kws", "se")
        }
        self._detector = Detector(self.runners["kws"], thresholds=0.5)
        self._hashes = {task: hashlib.sha256() for task in self.runners}
        self.words, self.finite = 0, True

    def run(self, seconds, after_each=lambda index: None):
        for index in range(seconds):
            sound = second_of_sound(index)
            events = self._detector.push(sound)
            self.words += len(events)
            heard = json.dumps([vars(event) for event in events]).encode()
            enhanced = np.concatenate(self.runners["se"].push(sound))
            self.finite &= bool(np.isfinite(enhanced).all())
            self._hashes["kws"].update(heard)
            self._hashes["se"].update(enhanced.tobytes())
            after_each(index)
        for task, runner in self.runners.items():  # what is left behind
            for state in runner._old:
                self._hashes[task].update(state.tobytes())
        self.digests = {t: h.hexdigest() for t, h in self._hashes.items()}
        self.counters = {
            task: runner._counting.counters()
            for task, runner in self.runners.items()
        }


def soak(seconds, threads):
    """Runs listeners at once; returns them, bytes over time, and seconds."""
    listeners = [Listener() for _ in range(threads)]
    memory = np.zeros(seconds, "int64")

    def after_each(index):
        memory[index] = resident()

    workers = [
        threading.Thread(target=x.run, args=(seconds, *more))
        for x, more in zip(listeners, [(after_each,), *[()] * (threads - 1)])
    ]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return listeners, memory, time.perf_counter() - began


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--threads", type=int, default=4)
    options = parser.parse_args(arguments)
    seconds = max(10, round(60 * options.minutes))
    (alone,), _, took = soak(seconds, 1)
    print(
        f"1 thread: {seconds} s of sound in {took:.0f} s, {alone.words} "
        f"events, kernel {native.kernels()[0]}",
        flush=True,
    )
    listeners, memory, took = soak(seconds, options.threads)
    first, last = memory[seconds // 10], memory[seconds // 10 :].max()
    samples = {t: r.samples for t, r in alone.runners.items()}
    steps = {
        f"{task}/{layer}": counts["steps"]
        for task, layers in alone.counters.items()
        for layer, counts in layers.items()
    }
    expected = {n: seconds * RATE // samples[n.split("/")[0]] for n in steps}
    given = f"{options.threads} x {seconds} s"
    print(f"{options.threads} threads: {given} of sound in {took:.0f} s")
    print(
        f"memory after a tenth {first / 1e6:.1f} MB, then at most "
        f"{last / 1e6:.1f} MB, {(last - first) / 1024:+.0f} KB"
    )
    checks = {
        "finite": all(x.finite for x in [alone, *listeners]),
        "outputs and states identical": all(
            x.digests == alone.digests for x in listeners
        ),
        "counters identical": all(
            x.counters == alone.counters for x in listeners
        ),
        "as many steps as there must be": steps == expected,
        "no growth of memory": last - first <= GROWTH,
    }
    for name, holds in checks.items():
        print(f"{name}: {'yes' if holds else 'NO'}")
    return int(not all(checks.values()))


if __name__ == "__main__":
    sys.exit(main())
