"""What is special about the intent recognizer's training."""

import types

import keras
import numpy as np
import pytest

from keras_duspar.losses import ctc_loss
from keras_duspar.losses import pack_ctc_targets

LABELS = [[3], [0, 2], [4]]
GROUPS = [2, 5, 1]


@pytest.fixture
def logits():
    return np.random.default_rng(0).normal(0, 2, (3, 5, 6)).astype("float32")


@pytest.fixture
def targets():
    return pack_ctc_targets(LABELS, GROUPS)


def reference(logits):
    """Cross entropy of the last label in the last group, by hand."""
    values = []
    for example, labels, groups in zip(logits, LABELS, GROUPS):
        scores = example[groups - 1].astype("float64")
        values.append(np.log(np.exp(scores).sum()) - scores[labels[-1]])
    return np.array(values)


def test_cross_entropy_is_that_of_the_last_group(logits, targets):
    import slu

    loss = slu.LastCrossEntropy(reduction=None)
    found = keras.ops.convert_to_numpy(loss(targets, logits))
    np.testing.assert_allclose(found, reference(logits), rtol=1e-5)
    logits[0, 2:], logits[2, 1:] = 1e3, -1e3  # padding
    np.testing.assert_allclose(
        keras.ops.convert_to_numpy(loss(targets, logits)), found, rtol=1e-5
    )


def test_cross_entropy_has_a_weight_beside_ctc(logits, targets):
    import slu

    loss = slu.CTCAndCrossEntropy(0.25, reduction=None)
    ctc = ctc_loss(targets[:, 1:], logits, logit_lengths=GROUPS)
    np.testing.assert_allclose(
        keras.ops.convert_to_numpy(loss(targets, logits)),
        keras.ops.convert_to_numpy(ctc) + 0.25 * reference(logits),
        rtol=1e-5,
    )


@pytest.mark.any_backend
def test_end_of_a_command_counts():
    import slu

    task = types.SimpleNamespace(group=4096)
    audio = np.zeros((4, 16384), "float32")
    batch = (
        audio,
        {
            "labels": np.array([[1], [2], [3], [4]], "int32"),
            "label_lengths": np.ones(4, "int32"),
            "sample_lengths": np.array([4096, 4097, 16384, 300], "int32"),
        },
    )
    fed, targets = slu.IntentRecognition.feed(task, batch)
    assert fed is audio
    assert targets.tolist() == [[1, 1], [2, 2], [4, 3], [1, 4]]
