"""What one visitor of the page says and hears."""

import time

import numpy as np

from keras_duspar.utils import checks
from keras_duspar.utils.incoming import HIGHEST_RATE
from keras_duspar.utils.incoming import LOWEST_RATE
from keras_duspar.utils.incoming import Incoming

FORMATS = {"int16": np.dtype("<i2"), "float32": np.dtype("<f4")}
REPORT = 0.25  # seconds of sound from one report to the next
BLOCK = 256  # samples that the models take at a time, at least


class Session:
    """Words, enhanced sound, occupancy and times of one stream.

    Args:
        detector: A `Detector` of a runner.
        enhancer: A streaming runner that makes audio, at the same rate.
    """

    def __init__(self, detector, enhancer):
        self._detector, self._enhancer = detector, enhancer
        self.rate = detector.source.sample_rate
        if enhancer.sample_rate != self.rate:
            raise ValueError(
                "Both models must take the same sample rate. Received: "
                f"{self.rate} and {enhancer.sample_rate}."
            )
        self._runners = {"words": detector.source, "enhanced": enhancer}
        self._late = enhancer.delay
        self._original = np.zeros(0, "float32")
        self._incoming = Incoming(BLOCK, self.rate)
        self._given, self._dtype = None, None
        self._heard = self._reported = 0  # samples
        self._took = dict.fromkeys(self._runners, 0.0)

    def about(self):
        """What the page has to know at the beginning."""
        return {
            "rate": self.rate,
            "words": [
                label
                for label, threshold in zip(
                    self._detector.labels, self._detector.settings["thresholds"]
                )
                if threshold is not None
            ],
            "frames": {
                name: 1000 * runner.samples / self.rate
                for name, runner in self._runners.items()
            },
        }

    def begin(self, settings):
        """Takes what the page says of its sound.

        Args:
            settings: Dictionary: `rate`, samples per second, and `format`, one
                of `FORMATS`.
        """
        if not isinstance(settings, dict):
            raise checks.bad_value("settings", "a dictionary", settings)
        rate, name = settings.get("rate"), settings.get("format")
        if type(rate) is not int or not LOWEST_RATE <= rate <= HIGHEST_RATE:
            expected = f"an integer from {LOWEST_RATE} to {HIGHEST_RATE}"
            raise checks.bad_value("rate", expected, rate)
        if not isinstance(name, str) or name not in FORMATS:
            raise checks.bad_value("format", f"one of {list(FORMATS)}", name)
        self._given, self._dtype = rate, FORMATS[name]

    def push(self, data):
        """Takes bytes of sound.

        Args:
            data: Bytes of samples, as `begin()` was told.

        Returns:
            A dictionary to tell the page, or `None`, and the bytes of pairs of
            float32 samples: the original and the enhanced sound, of the same
            time.
        """
        if self._given is None:
            raise ValueError("`rate` and `format` must come before sound.")
        if len(data) % self._dtype.itemsize:
            expected = f"whole {self._dtype.name} samples"
            raise checks.bad_value("data", expected, f"{len(data)} bytes")
        samples = np.frombuffer(data, self._dtype)
        chunks = self._incoming(samples.astype(self._dtype.name), self._given)
        if not chunks:
            return None, b""
        original = np.concatenate(chunks)
        events = self._timed("words", self._detector.push, original)
        enhanced = self._timed("enhanced", self._enhancer.push, original)
        self._heard += len(original)
        due = self._heard - self._reported >= REPORT * self.rate
        report = self._report(events) if events or due else None
        return report, self._pairs(original, enhanced).tobytes()

    def _timed(self, name, push, samples):
        began = time.perf_counter()
        found = push(samples)
        self._took[name] += time.perf_counter() - began
        return found

    def _pairs(self, original, enhanced):
        """Original beside enhanced, without the delay of the latter."""
        enhanced = np.concatenate([np.zeros(0, "float32"), *enhanced])
        late = min(self._late, len(enhanced))
        self._late -= late
        enhanced = enhanced[late:]
        original = np.concatenate([self._original, original])
        self._original = original[len(enhanced) :]
        return np.stack([original[: len(enhanced)], enhanced], 1, dtype="<f4")

    def _report(self, events):
        """What is new since the last report."""
        new, self._reported = self._heard - self._reported, self._heard
        found = {
            "seconds": self._heard / self.rate,
            "events": [vars(event) for event in events],
            "models": {},
        }
        for name, runner in self._runners.items():
            frames = new / runner.samples
            found["models"][name] = {
                "microseconds": 1e6 * self._took[name] / frames,
                "layers": occupancies(runner),
            }
            self._took[name] = 0.0
            runner.reset_counters()
        return found


def occupancies(runner):
    """Occupancy of the layers that skip zeros, by name."""
    if not runner.occupancy():  # nothing has run, or nothing is counted
        return {}
    return {
        layer.name: layer.occupancy
        for layer in runner.profile().layers
        if any(operand.sparse for operand in layer.cost.operands)
    }
