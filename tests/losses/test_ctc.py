import itertools

import keras
import numpy as np
import pytest
from keras import ops

from keras_duspar.losses import CTC
from keras_duspar.losses import ctc_decode
from keras_duspar.losses import ctc_loss
from keras_duspar.losses import pack_ctc_targets
from tests.helpers import saved_and_loaded

# Labels and valid frames of five examples; the class 0 is a label like any
# other, repeated labels need a blank between them.
LABELS = [[3], [0], [0, 0, 2], [1, 2], [4, 4]]
FRAMES = [9, 4, 6, 9, 3]
CLASSES = 6


def log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def collapse(path, blank):
    """The labels of an alignment, by the definition of CTC."""
    joined = [label for label, _ in itertools.groupby(path)]
    return [label for label in joined if label != blank]


def reference_loss(labels, logits, blank):
    """The forward algorithm of Graves et al., 2006, in probabilities."""
    probabilities = np.exp(log_softmax(logits))
    extended = [blank]
    for label in labels:
        extended += [label, blank]
    alpha = np.zeros(len(extended))
    alpha[:2] = probabilities[0, extended[:2]]
    for frame in probabilities[1:]:
        before, alpha = alpha, np.zeros(len(extended))
        for s, label in enumerate(extended):
            alpha[s] = before[s]
            if s > 0:
                alpha[s] += before[s - 1]
            if s > 1 and label not in (blank, extended[s - 2]):
                alpha[s] += before[s - 2]
            alpha[s] *= frame[label]
    return -np.log(alpha[-2:].sum())


@pytest.fixture
def logits():
    return np.random.default_rng(0).normal(size=(5, 9, CLASSES)) * 2


def padded(labels, value=-1):
    rows = np.full((len(labels), 3), value)
    for row, some in zip(rows, labels):
        row[: len(some)] = some
    return rows


def loss_of(labels, logits, **kwargs):
    return ops.convert_to_numpy(
        ctc_loss(labels, ops.convert_to_tensor(logits, "float32"), **kwargs)
    )


@pytest.mark.any_backend
def test_reference_adds_up_all_alignments(logits):
    probabilities = np.exp(log_softmax(logits[2, :5]))
    paths = itertools.product(range(CLASSES), repeat=5)
    total = sum(
        np.prod(probabilities[range(5), path])
        for path in paths
        if collapse(path, 5) == [0, 0, 2]
    )
    expected = reference_loss([0, 0, 2], logits[2, :5], 5)
    np.testing.assert_allclose(-np.log(total), expected)


@pytest.mark.parametrize("blank", [-1, 0, 2])
def test_equals_the_forward_algorithm(logits, blank):
    index = blank % CLASSES
    labels = [[(i + index + 1) % CLASSES for i in row] for row in LABELS]
    expected = [
        reference_loss(row, example[:frames], index)
        for row, example, frames in zip(labels, logits, FRAMES)
    ]
    loss = loss_of(padded(labels), logits, logit_lengths=FRAMES, blank=blank)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


@pytest.mark.parametrize("value", [0, 3, 5])
def test_padding_of_labels_is_not_read(logits, value):
    lengths = [len(row) for row in LABELS]
    kwargs = {"label_lengths": lengths, "logit_lengths": FRAMES}
    np.testing.assert_array_equal(
        loss_of(padded(LABELS, value), logits, **kwargs),
        loss_of(padded(LABELS), logits, **kwargs),
    )


@pytest.mark.parametrize("garbage", [-1e9, np.nan])
def test_padded_frames_are_not_scored(logits, gradient, garbage):
    dirty = logits.astype("float32")
    for example, frames in zip(dirty, FRAMES):
        example[frames:] = garbage
    kwargs = {"logit_lengths": FRAMES}
    np.testing.assert_array_equal(
        loss_of(padded(LABELS), dirty, **kwargs),
        loss_of(padded(LABELS), logits, **kwargs),
    )
    slope = gradient(
        lambda x: ops.sum(ctc_loss(padded(LABELS), x, **kwargs)), dirty
    )
    for example, frames in zip(slope, FRAMES):
        assert np.isfinite(example).all()
        assert np.abs(example[:frames]).max() > 0.01
        assert not example[frames:].any()


def test_batch_equals_single_examples(logits):
    batch = loss_of(padded(LABELS), logits, logit_lengths=FRAMES)
    for i, (labels, frames) in enumerate(zip(LABELS, FRAMES)):
        alone = loss_of(
            padded([labels]), logits[i : i + 1], logit_lengths=[frames]
        )
        np.testing.assert_allclose(alone[0], batch[i], rtol=1e-5)
    cut = loss_of([LABELS[1]], logits[1:2, : FRAMES[1]])
    np.testing.assert_allclose(cut[0], batch[1], rtol=1e-5)


def test_gradient_equals_finite_differences(logits, gradient):
    slope = gradient(
        lambda x: ops.sum(ctc_loss(padded(LABELS), x, logit_lengths=FRAMES)),
        logits.astype("float32"),
    )
    expected = np.zeros_like(logits)
    for place in np.ndindex(logits.shape):
        i, frame, _ = place
        if frame >= FRAMES[i]:
            continue
        sides = []
        for step in (1e-5, -1e-5):
            moved = logits[i, : FRAMES[i]].copy()
            moved[place[1:]] += step
            sides.append(reference_loss(LABELS[i], moved, CLASSES - 1))
        expected[place] = (sides[0] - sides[1]) / 2e-5
    np.testing.assert_allclose(slope, expected, atol=2e-5)


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_too_few_frames(logits, gradient, zero_infinity):
    # Two equal labels need three frames, one label needs one.
    labels, frames = [[4, 4], [1], [1], [], [2]], [2, 0, 1, 0, 9]
    kwargs = {"logit_lengths": frames, "zero_infinity": zero_infinity}
    loss = loss_of(padded(labels), logits, **kwargs)
    impossible = 0.0 if zero_infinity else np.inf
    np.testing.assert_array_equal(loss[:2], impossible)
    expected = reference_loss([1], logits[2, :1], CLASSES - 1)
    np.testing.assert_allclose(loss[2], expected, rtol=1e-5)
    assert loss[3] == 0
    slope = gradient(
        lambda x: ops.sum(ctc_loss(padded(labels), x, **kwargs)),
        logits.astype("float32"),
        finite=zero_infinity,
    )
    assert np.isfinite(slope).all()
    assert not slope[[0, 1, 3]].any()


def test_no_labels_is_all_blank(logits):
    loss = loss_of(padded([[]] * 5), logits)
    expected = -log_softmax(logits)[..., -1].sum(axis=1)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_loss_class_reads_the_packed_lengths(logits):
    targets = pack_ctc_targets(LABELS, FRAMES)
    loss = CTC(reduction=None)(targets, logits)
    np.testing.assert_allclose(
        ops.convert_to_numpy(loss),
        loss_of(padded(LABELS), logits, logit_lengths=FRAMES),
        rtol=1e-6,
    )


@pytest.mark.any_backend
def test_config_round_trip():
    loss = CTC(blank=0, zero_infinity=True, reduction="sum", name="mine")
    again = saved_and_loaded(loss)
    assert isinstance(again, CTC)
    assert again.get_config() == loss.get_config()
    assert (again.blank, again.zero_infinity) == (0, True)


def test_training_learns_the_labels():
    keras.utils.set_random_seed(0)
    x = np.random.default_rng(0).normal(size=(8, 6, 4)).astype("float32")
    labels = [[i % 3] for i in range(8)]
    frames = [6, 5, 4, 3, 6, 5, 4, 3]
    model = keras.Sequential(
        [
            keras.Input((None, 4)),
            keras.layers.GRU(16, return_sequences=True),
            keras.layers.Dense(4),
        ]
    )
    model.compile(keras.optimizers.Adam(0.05), CTC())
    model.fit(
        x,
        pack_ctc_targets(labels, frames),
        batch_size=8,
        epochs=30,
        verbose=0,
    )
    found, _ = ctc_decode(model.predict(x, verbose=0), frames)
    assert found == labels


@pytest.mark.any_backend
@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"logits": np.zeros((2, 3))}, "`logits` must be of shape"),
        ({"labels": np.zeros(2, int)}, "`labels` must be of shape"),
        ({"blank": 9}, "`blank` must be one of the 6 classes"),
        ({"blank": 0.5}, "`blank` must be an integer"),
    ],
)
def test_bad_arguments(kwargs, message):
    good = {"labels": [[1], [2]], "logits": np.zeros((2, 3, 6), "float32")}
    with pytest.raises(ValueError, match=message):
        ctc_loss(**(good | kwargs))


@pytest.mark.any_backend
def test_bad_targets():
    with pytest.raises(ValueError, match="`lengths` must be one integer"):
        pack_ctc_targets([[1], [2]], [3])
    with pytest.raises(ValueError, match="`labels` must be lists of classes"):
        pack_ctc_targets([[1], [-2]], [3, 3])
    with pytest.raises(ValueError, match="`y_true` of CTC must be of shape"):
        CTC()(np.zeros((2, 1)), np.zeros((2, 3, 6)))
