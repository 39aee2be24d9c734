"""Connectionist temporal classification (CTC) with true lengths."""

import keras
import numpy as np
from keras import ops

from keras_duspar.losses.decoding import blank_index
from keras_duspar.utils import checks
from keras_duspar.utils.configs import own_config


def ctc_loss(
    labels,
    logits,
    label_lengths=None,
    logit_lengths=None,
    blank=-1,
    zero_infinity=False,
):
    """CTC loss of every example, with true lengths.

    Unlike `keras.losses.CTC` it does not score the frames behind the end of
    an example, and no label is mistaken for padding: any class can be the
    blank, and padding is what the lengths say. Whatever stands in the padding
    changes neither loss nor gradient, even NaN.

    Args:
        labels: Integer tensor of shape `(batch, max_labels)`.
        logits: Tensor of shape `(batch, frames, classes)`, not normalized.
        label_lengths: Integer tensor of shape `(batch,)`, number of labels of
            each example. Default: `None`, which counts the labels before the
            first negative one.
        logit_lengths: Integer tensor of shape `(batch,)`, number of valid
            frames of each example, after pooling. Default: `None`, all.
        blank: Integer, class of the blank; negative ones count from the end.
            Default: -1, the last class.
        zero_infinity: Boolean. An example with too few frames for its labels
            has an infinite loss and no gradient; if `True` its loss is 0, so
            that it does not spoil the mean of a batch. Default: `False`.

    Returns:
        A tensor of shape `(batch,)`.

    Example:

    >>> logits = np.zeros((2, 5, 32), "float32")
    >>> loss = keras_duspar.losses.ctc_loss(
    ...     [[3, -1], [0, 3]], logits, logit_lengths=[1, 5])
    >>> tuple(loss.shape)
    (2,)
    >>> round(float(loss[0]), 2)  # log(32)
    3.47
    """
    logits = ops.convert_to_tensor(logits)
    labels = ops.cast(ops.convert_to_tensor(labels), "int32")
    form = "(batch, frames, classes)"
    checks.axes("logits", logits.shape, form, known=True)
    checks.axes("labels", labels.shape, "(batch, max_labels)")
    blank = blank_index(blank, logits.shape[-1])
    frames = ops.shape(logits)[1]
    present = ops.cast(labels >= 0, "int32")
    if label_lengths is None:
        label_lengths = ops.sum(ops.cumprod(present, axis=1), axis=1)
    if logit_lengths is None:
        logit_lengths = ops.zeros_like(labels[:, 0]) + frames
    label_lengths = ops.cast(ops.convert_to_tensor(label_lengths), "int32")
    logit_lengths = ops.cast(ops.convert_to_tensor(logit_lengths), "int32")

    # A label needs a frame, and the same label twice a blank between them.
    position = ops.arange(ops.shape(labels)[1], dtype="int32")
    valid = position < label_lengths[:, np.newaxis]
    repeats = ops.logical_and(labels[:, 1:] == labels[:, :-1], valid[:, 1:])
    needed = label_lengths + ops.sum(ops.cast(repeats, "int32"), axis=1)
    possible = needed <= logit_lengths
    empty = logit_lengths < 1

    # The backends differ in what they do with an impossible example, and in
    # what padding may hold: they get an example that all of them can score.
    safe_lengths = ops.where(possible, label_lengths, 0)
    safe_labels = ops.where(
        position < safe_lengths[:, np.newaxis], labels, blank
    )
    step = ops.arange(frames, dtype="int32")
    inside = step < logit_lengths[:, np.newaxis]
    safe_logits = ops.where(inside[..., np.newaxis], logits, 0.0)
    losses = ops.ctc_loss(
        safe_labels,
        safe_logits,
        safe_lengths,
        ops.maximum(logit_lengths, 1),
        mask_index=blank,
    )
    # No labels in no frames are certain.
    losses = ops.where(empty, 0.0, losses)
    return ops.where(possible, losses, 0.0 if zero_infinity else float("inf"))


def pack_ctc_targets(labels, lengths):
    """Puts labels and numbers of frames into one array, for `CTC`.

    Args:
        labels: List of lists of integers, the labels of each example; a plain
            integer is a list of one.
        lengths: List of integers, the number of valid frames of each example
            in the model's output, after pooling; for a recording of `n`
            samples that is `model.compute_output_shape((1, n))[1]`.

    Returns:
        An int32 array of shape `(batch, 1 + max_labels)`. Each row holds the
        number of frames, then the labels, then -1.

    Example:

    >>> keras_duspar.losses.pack_ctc_targets([[4, 2], 7], [9, 5]).tolist()
    [[9, 4, 2], [5, 7, -1]]
    """
    rows = [np.atleast_1d(np.asarray(row, "int32")) for row in labels]
    lengths = np.asarray(lengths, "int32")
    if lengths.shape != (len(rows),):
        raise checks.bad_value(
            "lengths", f"one integer for each of {len(rows)} examples", lengths
        )
    for row in rows:
        if row.ndim != 1 or (row < 0).any():
            raise checks.bad_value(
                "labels", "lists of classes, none negative", row.tolist()
            )
    packed = np.full(
        (len(rows), 1 + max((len(row) for row in rows), default=0)), -1, "int32"
    )
    packed[:, 0] = lengths
    for target, row in zip(packed, rows):
        target[1 : 1 + len(row)] = row
    return packed


@keras.saving.register_keras_serializable(package="keras_duspar")
class CTC(keras.losses.Loss):
    """CTC loss with true lengths, for `model.compile()`.

    A loss of `model.fit()` sees only targets and outputs. The number of valid
    frames therefore travels with the targets, as `pack_ctc_targets()` packs
    them; see `ctc_loss()` for the rest.

    Args:
        blank: Integer, class of the blank; negative ones count from the end.
            Default: -1, the last class.
        zero_infinity: Boolean, whether an example with too few frames for its
            labels has the loss 0 rather than infinity. Default: `False`.
        reduction: String, as in `keras.losses.Loss`. Default:
            `"sum_over_batch_size"`.
        name: String, the loss's name. Default: `"ctc"`.
        dtype: As in `keras.losses.Loss`. Default: `None`, float32.

    Call arguments:
        y_true: Integer array of shape `(batch, 1 + max_labels)`, made by
            `pack_ctc_targets()`.
        y_pred: Logits of shape `(batch, frames, classes)`.

    Returns:
        One value per example, reduced as `reduction` says.

    Example:

    >>> model = keras_duspar.models.intent_recognizer("gru", 8)
    >>> model.compile("adam", keras_duspar.losses.CTC())
    >>> audio = np.zeros((2, 32000), "float32")
    >>> frames = [model.compute_output_shape((1, n))[1] for n in (32000, 9000)]
    >>> targets = keras_duspar.losses.pack_ctc_targets([3, 30], frames)
    >>> history = model.fit(audio, targets, verbose=0)
    """

    def __init__(
        self,
        blank=-1,
        zero_infinity=False,
        reduction="sum_over_batch_size",
        name="ctc",
        dtype=None,
    ):
        super().__init__(reduction=reduction, name=name, dtype=dtype)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def call(self, y_true, y_pred):
        if len(y_true.shape) != 2 or y_true.shape[1] in (0, 1):
            expected = (
                "be of shape `(batch, 1 + max_labels)`, as "
                "`pack_ctc_targets()` makes it"
            )
            raise checks.bad_shape("y_true", expected, y_true.shape, self)
        return ctc_loss(
            y_true[:, 1:],
            y_pred,
            logit_lengths=y_true[:, 0],
            blank=self.blank,
            zero_infinity=self.zero_infinity,
        )

    def get_config(self):
        return {**super().get_config(), **own_config(self, CTC)}
