"""From the frames' scores back to labels: CTC decoding, in NumPy."""

import numpy as np

from keras_duspar.utils import checks


def ctc_decode(logits, lengths=None, blank=-1, beam_width=None):
    """Labels that CTC scores stand for.

    Greedy decoding takes the best class of every frame, joins repetitions
    and drops blanks. Beam search adds up the probabilities of all alignments
    of the same labels, and keeps the `beam_width` best beginnings at every
    frame.

    Args:
        logits: Array of shape `(batch, frames, classes)`, not normalized.
        lengths: Integers of shape `(batch,)`, number of valid frames of each
            example. Default: `None`, all.
        blank: Integer, class of the blank; negative ones count from the end.
            Default: -1, the last class.
        beam_width: Positive integer, or `None` for greedy decoding. Default:
            `None`.

    Returns:
        A list with the list of labels of each example, and an array of shape
        `(batch,)` of log probabilities: of the best alignment if greedy, of
        the labels, over the alignments that were kept, if not.

    Example:

    >>> logits = 9.0 * np.eye(4)[[[3, 1, 1, 3, 1, 0, 3]]]
    >>> labels, scores = keras_duspar.losses.ctc_decode(logits)
    >>> labels
    [[1, 1, 0]]
    >>> keras_duspar.losses.ctc_decode(logits, beam_width=8)[0]
    [[1, 1, 0]]
    """
    logits = _to_numpy(logits).astype("float64")
    if logits.ndim != 3:
        raise checks.bad_value(
            "logits", "of shape `(batch, frames, classes)`", logits
        )
    batch, frames, classes = logits.shape
    blank = blank_index(blank, classes)
    if lengths is None:
        lengths = np.full(batch, frames)
    lengths = _to_numpy(lengths).astype("int64")
    if lengths.shape != (batch,) or ((lengths < 0) | (lengths > frames)).any():
        raise checks.bad_value(
            "lengths",
            f"{batch} integers from 0 to the number of frames, {frames}",
            lengths.tolist(),
        )
    if beam_width is not None:
        beam_width = checks.positive_integer("beam_width", beam_width)
    labels, scores = [], []
    for example, length in zip(logits, lengths):
        # Only valid frames: padding may hold anything.
        log_probs = _log_softmax(example[:length])
        if beam_width is None:
            found, score = _greedy(log_probs, blank)
        else:
            found, score = _beam_search(log_probs, blank, beam_width)
        labels.append(found)
        scores.append(score)
    return labels, np.array(scores)


def blank_index(blank, classes):
    """Returns `blank` counted from the start."""
    if isinstance(blank, bool) or not isinstance(blank, (int, np.integer)):
        raise checks.bad_value("blank", "an integer", blank)
    if not -classes <= blank < classes:
        raise checks.bad_value(
            "blank", f"one of the {classes} classes", int(blank)
        )
    return int(blank) % classes


def _to_numpy(value):
    if isinstance(value, (np.ndarray, list, tuple)):
        return np.asarray(value)
    from keras import ops  # noqa: PLC0415 - who has tensors, has Keras

    return ops.convert_to_numpy(value)


def _log_softmax(logits):
    top = logits.max(axis=-1, keepdims=True)
    return logits - top - np.log(np.exp(logits - top).sum(-1, keepdims=True))


def _greedy(log_probs, blank):
    best = log_probs.argmax(axis=-1)
    starts = np.ones(len(best), bool)
    starts[1:] = best[1:] != best[:-1]
    labels = best[starts & (best != blank)]
    return labels.tolist(), log_probs.max(axis=-1).sum()


def _beam_search(log_probs, blank, beam_width):
    # Of every beginning: log probabilities of its alignments that end in a
    # blank, and of those that end in its last label. They differ in what the
    # same label in the next frame means: one more label, or the same one.
    beams = {(): (0.0, -np.inf)}
    for frame in log_probs:
        grown = {}

        def add(labels, ends_in_blank, ends_in_label, grown=grown):
            old = grown.get(labels, (-np.inf, -np.inf))
            grown[labels] = (
                np.logaddexp(old[0], ends_in_blank),
                np.logaddexp(old[1], ends_in_label),
            )

        for labels, (in_blank, in_label) in beams.items():
            either = np.logaddexp(in_blank, in_label)
            add(labels, either + frame[blank], -np.inf)
            for label, score in enumerate(frame):
                if label == blank:
                    continue
                if labels and labels[-1] == label:
                    add(labels, -np.inf, in_label + score)
                    add((*labels, label), -np.inf, in_blank + score)
                else:
                    add((*labels, label), -np.inf, either + score)
        ranked = sorted(grown.items(), key=lambda item: -np.logaddexp(*item[1]))
        beams = dict(ranked[:beam_width])
    labels, ends = max(beams.items(), key=lambda item: np.logaddexp(*item[1]))
    return list(labels), np.logaddexp(*ends)
