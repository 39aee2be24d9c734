"""Words in a stream: events from scores over a sliding window.

Without Keras, so that a file can listen alone. For apps,
`tflite/src/listening/detector.c` computes the same.
"""

import numbers
from dataclasses import dataclass

import numpy as np

from keras_duspar.utils import checks
from keras_duspar.utils.incoming import Incoming

WINDOW = 1.0
THRESHOLD = 0.8
SMOOTHING = 0.1
REFRACTORY = 1.0
# Classes that are no words.
NO_WORDS = ("silence", "unknown", "_silence_", "_unknown_")


@dataclass(frozen=True)
class Event:
    """A word that was heard.

    Args:
        word: String, its label.
        start: Float, seconds from the beginning of the stream: the word lies
            behind.
        end: Float, when it was heard, in the same seconds.
        confidence: Float, the probability of the word, smoothed.
    """

    word: str
    start: float
    end: float
    confidence: float


def detector_settings(
    labels, window, thresholds=None, smoothing=None, refractory=None
):
    """What a detector needs to know, as plain values.

    Args:
        labels: List of strings, the classes.
        window: Float, seconds.
        thresholds: As the others, an argument of `Detector`.

    Returns:
        A dictionary, which a file keeps as its metadata `detector`. A
        threshold of `None` is that of a class that is no word.
    """
    smoothing = SMOOTHING if smoothing is None else smoothing
    refractory = REFRACTORY if refractory is None else refractory
    given = dict.fromkeys(labels, THRESHOLD)
    given |= {label: None for label in labels if label in NO_WORDS}
    if isinstance(thresholds, numbers.Real):
        given = {k: v if v is None else thresholds for k, v in given.items()}
    elif thresholds is not None:
        if not isinstance(thresholds, dict) or set(thresholds) - set(labels):
            raise checks.bad_value(
                "thresholds",
                f"a number, or a dictionary with keys of {list(labels)}",
                thresholds,
            )
        given |= thresholds
    for value in given.values():
        if value is not None:
            checks.number("thresholds", value, "(0, 1]")
    return {
        "window": checks.number("window", window, "(0, inf)"),
        "smoothing": checks.number("smoothing", smoothing, "[0, inf)"),
        "refractory": checks.number("refractory", refractory, "[0, inf)"),
        "thresholds": [given[label] for label in labels],
    }


class Decisions:
    """Events of one vector of scores after the other.

    Args:
        labels: List of strings, the classes.
        settings: Dictionary, made by `detector_settings()`.
        seconds: Float, from one vector to the next.
    """

    def __init__(self, labels, settings, seconds):
        self.labels, self._seconds = labels, seconds
        self._window = settings["window"]
        self._thresholds = settings["thresholds"]
        steps = max(1, round(settings["smoothing"] / seconds))
        self._ring = np.zeros((steps, len(labels)))
        self._quiet = round(settings["refractory"] / seconds)
        self.reset()

    def reset(self):
        """Begins a new stream."""
        self._ring[...] = 0
        self._steps, self._again, self._held = 0, 0, None

    def step(self, scores):
        """Takes the scores of the next step; returns an `Event` or `None`."""
        self._ring[self._steps % len(self._ring)] = softmax(scores)
        self._steps += 1
        smoothed = self._ring.sum(axis=0) / len(self._ring)
        best = int(smoothed.argmax())
        threshold = self._thresholds[best]
        if threshold is None or smoothed[best] < threshold:
            self._held = None
            return None
        if best == self._held or self._steps < self._again:
            return None
        self._held, self._again = best, self._steps + self._quiet
        end = self._steps * self._seconds
        start = max(0.0, end - self._window)
        return Event(self.labels[best], start, end, float(smoothed[best]))


def softmax(scores):
    """Probabilities, in double precision; zeros of scores that are not finite.

    Args:
        scores: Array whose last axis is the classes.
    """
    scores = np.asarray(scores, "float64")
    with np.errstate(invalid="ignore"):
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        found = powers / powers.sum(axis=-1, keepdims=True)
    finite = np.isfinite(scores).all(axis=-1, keepdims=True)
    return np.where(finite, found, 0.0)


class Detector:
    """Hears words in a stream that never ends.

    A keyword spotter's scores are averaged over a sliding window. Their
    probabilities are averaged over the last `smoothing` seconds; the best
    class is an event when it is a word and reaches the word's threshold. After
    an event there is none for `refractory` seconds, and a word that goes on
    being the best is not heard anew. Classes named `unknown` or `silence` are
    never events, and no word is one while they are the best.

    What is not given is taken from the file's metadata, where
    `keras_duspar.tflite.convert(..., window=1.0)` and
    `keras_duspar.tflite.store_detector()` put it.

    Args:
        source: A keyword spotter as a `keras.Model`, a `Stream` that was made
            with `window`, or the runner of a streaming `.tflite` file that
            was converted with `window`.
        labels: List of strings, the classes. Default: `None`, those of the
            file, or numbers.
        thresholds: Number from 0 to 1, or a dictionary of label to number,
            which may be `None` for a class that is no word. Default: `None`,
            those of the file, or 0.8.
        window: Float, the seconds that a `keras.Model` looks back. Default:
            `None`, which stands for 1; others have a window of their own.
        smoothing: Float, seconds. Default: `None`, that of the file, or 0.1.
        refractory: Float, seconds. Default: `None`, that of the file, or 1.

    Attributes:
        settings: Dictionary of what is used: `window`, `smoothing`,
            `refractory`, and `thresholds`, a list in the order of the labels.
        seconds: Float, from one step to the next.

    Example:

    >>> model = keras_duspar.models.keyword_spotter("duspar", 8, 3)
    >>> labels = ["yes", "no", "unknown"]
    >>> detector = keras_duspar.streaming.Detector(model, labels, 0.9)
    >>> silence = np.zeros(800, "int16")  # 50 ms as a microphone gives it
    >>> detector.push(silence, rate=16000)
    []
    """

    def __init__(
        self,
        source,
        labels=None,
        thresholds=None,
        window=None,
        smoothing=None,
        refractory=None,
    ):
        if not hasattr(source, "samples"):
            from keras_duspar.streaming.stream import Stream  # noqa: PLC0415

            source = Stream(source, window=window or WINDOW)
        elif window is not None:
            raise checks.bad_value(
                "window", "None, as `source` has its own", window
            )
        if not source.window or not source.sample_rate:
            raise ValueError(
                "`source` must look back for a certain time: make it with "
                "`window`, such as `Stream(model, window=1.0)` or "
                '`convert(model, "m.tflite", streaming=True, window=1.0)`. '
                "Received one without."
            )
        self.source, self._of_keras = source, hasattr(source, "model")
        about = getattr(source, "description", {})
        classes = _classes(source)
        known = about.get("labels")
        labels = labels or known or [str(i) for i in range(classes)]
        if len(labels) != classes:
            raise checks.bad_value("labels", f"{classes} strings", labels)
        kept = about.get("detector") or {}
        if thresholds is None and labels == known:
            thresholds = dict(zip(labels, kept["thresholds"]))
        self.settings = detector_settings(
            labels,
            source.window,
            thresholds,
            kept.get("smoothing") if smoothing is None else smoothing,
            kept.get("refractory") if refractory is None else refractory,
        )
        self.seconds = source.samples / source.sample_rate
        self._decisions = Decisions(labels, self.settings, self.seconds)
        self._incoming = Incoming(source.samples, source.sample_rate)

    @property
    def labels(self):
        """List of strings, the classes."""
        return self._decisions.labels

    def push(self, samples, rate=None):
        """Takes what was recorded.

        Args:
            samples: Array of shape `(n,)` and any length, of int16, or of
                floats from -1 to 1. NaN is silence; what is beyond full scale
                is cut off there.
            rate: Integer, samples per second, from 8000 to 48000. Default:
                `None`, the model's rate.

        Returns:
            A list of the `Event`s that are new, maybe none.
        """
        found = []
        for chunk in self._incoming(samples, rate):
            # A stream has a batch axis; a runner gives a list of steps.
            batch = chunk[np.newaxis] if self._of_keras else chunk
            (scores,) = self.source.push(batch)
            if not np.isfinite(scores).all():  # begin anew
                self.source.reset()
            event = self.step(scores)
            if event is not None:
                found.append(event)
        return found

    def step(self, scores):
        """Takes the scores of a step that ran elsewhere.

        Args:
            scores: Array of shape `(classes,)`, the source's output.

        Returns:
            An `Event`, or `None`.
        """
        return self._decisions.step(scores)

    def reset(self):
        """Begins a new stream."""
        self.source.reset()
        self._incoming.reset()
        self._decisions.reset()


def _classes(source):
    """How many classes a stream or a runner scores."""
    shapes = (
        [tuple(x.shape) for x in source.model.outputs]
        if hasattr(source, "model")
        else list(source.outputs.values())
    )
    if len(shapes) != 1 or len(shapes[0]) != 2:
        raise ValueError(
            "`source` must have one output, the scores of its classes. "
            f"Received outputs of shapes {shapes}."
        )
    return shapes[0][-1]
