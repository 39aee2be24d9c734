"""Misses against false alarms of a detector, on hours of sound.

Without Keras, as the detector.
"""

from dataclasses import dataclass

import numpy as np

from keras_duspar.streaming.detector import Decisions
from keras_duspar.streaming.detector import softmax
from keras_duspar.utils.optional import optional_package


@dataclass(frozen=True)
class Spoken:
    """A word in a stream: from when to when, in seconds."""

    word: str
    start: float
    end: float


class Evaluation:
    """What a detector makes of a stream in which some words are known.

    An event is a hit if its word is spoken, wholly or in part, within what the
    detector looks back at: the window and the smoothing. Otherwise it is a
    false alarm. Further events of a word that was hit already are neither.

    Args:
        labels: List of strings, the classes.
        settings: Dictionary, the detector's settings.
        seconds: Float, from one step to the next.
        scores: Array of shape `(steps, classes)`.
        spoken: List of `Spoken`, in order.

    Attributes:
        hours: Float, hours without the spoken words.
    """

    def __init__(self, labels, settings, seconds, scores, spoken):
        self.labels, self.seconds = labels, seconds
        self.settings, self._scores = settings, np.asarray(scores, "float32")
        self.spoken = spoken
        self._late = settings["window"] + settings["smoothing"]
        length = len(self._scores) * seconds
        self.hours = (length - sum(s.end - s.start for s in spoken)) / 3600

    @property
    def words(self):
        """List of strings, the classes that are words."""
        pairs = zip(self.labels, self.settings["thresholds"])
        return [label for label, threshold in pairs if threshold is not None]

    def peaks(self):
        """How sure the detector gets of each word, whatever the thresholds.

        Returns:
            A dictionary of word to two arrays of probabilities: the highest
            at each time that it was spoken, 0 if it never was the best class,
            and the highest of each other stretch in which it was.
        """
        smoothed = self._smoothed()
        best = smoothed.argmax(axis=1)
        return {
            word: self._peaks(self.labels.index(word), smoothed, best)
            for word in self.words
        }

    def _smoothed(self):
        """As `Decisions` does, of all steps at once."""
        steps = max(1, round(self.settings["smoothing"] / self.seconds))
        shares = softmax(self._scores)
        padded = np.pad(shares, [(steps - 1, 0), (0, 0)])
        return sum(padded[i : i + len(shares)] for i in range(steps)) / steps

    def _peaks(self, index, smoothed, best):
        at = np.flatnonzero(best == index)
        values = smoothed[at, index]
        if not len(at):
            spoken = [s for s in self.spoken if s.word == self.labels[index]]
            return np.zeros(len(spoken)), values
        times = (at + 1) * self.seconds
        starts = np.flatnonzero(np.diff(at, prepend=-2) > 1)
        ends = np.append(starts[1:], len(at))
        stretch = np.searchsorted(starts, np.arange(len(at)), "right") - 1
        taken, hits = np.zeros(len(at), bool), []
        for s in self.spoken:
            if s.word != self.labels[index]:
                continue
            first = np.searchsorted(times, s.start, "right")
            last = np.searchsorted(times, s.end + self._late, "right")
            hits.append(values[first:last].max(initial=0.0))
            if last > first:
                # What goes on behind the word is still of the word.
                taken[first : ends[stretch[last - 1]]] = True
        alarms = np.zeros(len(starts))
        np.maximum.at(alarms, stretch[~taken], values[~taken])
        return np.array(hits), alarms[alarms > 0]

    def choose(self, rate):
        """Thresholds with which a word is a false alarm so often at most.

        Args:
            rate: Float, false alarms per hour and word.

        Returns:
            A dictionary of word to threshold, the lowest that will do, but
            not below 0.5.
        """
        allowed = int(rate * self.hours)
        chosen = {}
        for word, (_, alarms) in self.peaks().items():
            worst = np.sort(alarms)[::-1]
            threshold = worst[allowed] if len(worst) > allowed else 0.0
            # The next number above the loudest alarm that must not be one.
            threshold = max(0.5, float(np.nextafter(threshold, 2)))
            chosen[word] = min(threshold, 1.0)
        return chosen

    def count(self, thresholds=None):
        """Runs the detector.

        Args:
            thresholds: Dictionary of word to threshold. Default: `None`,
                those of the settings.

        Returns:
            A dictionary of word to a dictionary of `spoken`, `hits`, `alarms`,
            and the rates `missed` and `per_hour`.
        """
        settings = dict(self.settings)
        if thresholds is not None:
            settings["thresholds"] = [thresholds.get(w) for w in self.labels]
        decisions = Decisions(self.labels, settings, self.seconds)
        events = [e for e in map(decisions.step, self._scores) if e]
        found = {}
        for word in self.words:
            times = [s for s in self.spoken if s.word == word]
            heard = np.array([e.end for e in events if e.word == word])
            alarm, hits = np.ones(len(heard), bool), 0
            for s in times:
                near = (heard > s.start) & (heard <= s.end + self._late)
                alarm &= ~near
                hits += bool(near.any())
            found[word] = {
                "spoken": len(times),
                "hits": hits,
                "alarms": int(alarm.sum()),
                "missed": 1 - hits / max(1, len(times)),
                "per_hour": float(alarm.sum() / self.hours),
            }
        return found

    def plot(self, path, rate=None):
        """Draws misses against false alarms per hour, one curve per word.

        Args:
            path: The image to write.
            rate: Float, a rate to mark. Default: `None`.
        """
        optional_package("matplotlib", "plot")
        from matplotlib.figure import Figure  # noqa: PLC0415

        figure = Figure((6.4, 4.4), layout="constrained")
        axes = figure.subplots()
        for i, (word, (hits, alarms)) in enumerate(self.peaks().items()):
            worst = np.sort(alarms)[::-1]
            missed = [(hits < t).mean() if len(hits) else 1.0 for t in worst]
            per_hour = (np.arange(len(worst)) + 1) / self.hours
            # Lines differ by more than their colors, for the color-blind.
            axes.step(
                *(per_hour, 100 * np.array(missed)),
                where="post",
                label=word,
                color=f"C{i % 10}",
                linestyle=("-", "--", ":", "-.")[i % 4],
                marker="osv^D<>pPX*"[i % 11],
                markersize=4,
                markevery=max(1, len(worst) // 12),
            )
        if rate is not None:
            axes.axvline(rate, color="0.6", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_ylim(0, 50)
        axes.set_xlabel("false alarms per hour")
        axes.set_ylabel("missed, %")
        axes.legend(fontsize="small", ncols=2, handlelength=3.5)
        axes.grid(alpha=0.3)
        figure.savefig(path, dpi=120)
