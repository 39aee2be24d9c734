import itertools

import numpy as np
import pytest

from keras_duspar.losses import ctc_decode

pytestmark = pytest.mark.any_backend


def all_label_probabilities(logits, blank):
    """Probability of every sequence of labels, over all alignments."""
    probabilities = np.exp(logits)
    probabilities /= probabilities.sum(-1, keepdims=True)
    found = {}
    frames, classes = logits.shape
    for path in itertools.product(range(classes), repeat=frames):
        joined = [label for label, _ in itertools.groupby(path)]
        labels = tuple(label for label in joined if label != blank)
        chance = np.prod(probabilities[range(frames), path])
        found[labels] = found.get(labels, 0) + chance
    return found


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("blank", [0, -1])
def test_wide_beam_finds_the_most_probable_labels(seed, blank):
    logits = np.random.default_rng(seed).normal(size=(1, 5, 4)) * 1.5
    exact = all_label_probabilities(logits[0], blank % 4)
    best = max(exact, key=exact.get)
    labels, scores = ctc_decode(logits, blank=blank, beam_width=1000)
    assert tuple(labels[0]) == best
    np.testing.assert_allclose(scores[0], np.log(exact[best]))


def test_beam_beats_greedy_where_alignments_add_up():
    # The blank is best in both frames, but label 0 has three alignments.
    logits = np.log([[[0.4, 0.6], [0.4, 0.6]]])
    greedy, score = ctc_decode(logits)
    assert greedy == [[]]
    np.testing.assert_allclose(score, np.log(0.36))
    beam, score = ctc_decode(logits, beam_width=2)
    assert beam == [[0]]
    np.testing.assert_allclose(score, np.log(0.64))


def test_greedy_joins_repetitions_and_drops_blanks():
    path = [2, 0, 0, 2, 0, 1, 1, 2]
    logits = 5.0 * np.eye(3)[[path]]
    assert ctc_decode(logits)[0] == [[0, 0, 1]]
    assert ctc_decode(logits, blank=0)[0] == [[2, 2, 1, 2]]


@pytest.mark.parametrize("beam_width", [None, 4])
def test_padding_is_not_decoded(beam_width):
    random = np.random.default_rng(0)
    logits = random.normal(size=(3, 8, 5)) * 3
    lengths = [8, 3, 0]
    dirty = logits.copy()
    for example, length in zip(dirty, lengths):
        example[length:] = np.nan
    labels, scores = ctc_decode(dirty, lengths, beam_width=beam_width)
    for i, length in enumerate(lengths):
        alone, score = ctc_decode(
            logits[i : i + 1, :length], beam_width=beam_width
        )
        assert labels[i] == alone[0]
        assert scores[i] == score[0]
    assert labels[2] == []


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"logits": np.zeros((2, 3))}, "`logits` must be of shape"),
        ({"lengths": [4, 1]}, "`lengths` must be 2 integers"),
        ({"lengths": [1]}, "`lengths` must be 2 integers"),
        ({"beam_width": 0}, "`beam_width` must be a positive integer"),
        ({"blank": 7}, "`blank` must be one of the 4 classes"),
    ],
)
def test_bad_arguments(kwargs, message):
    with pytest.raises(ValueError, match=message):
        ctc_decode(**({"logits": np.zeros((2, 3, 4))} | kwargs))
