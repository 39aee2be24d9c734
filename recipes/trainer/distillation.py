"""Learning from a trained model beside the labels."""

import keras
import numpy as np
from keras import ops

from trainer import starting
from trainer.errors import TrainingError

# Scores are divided by it, so that what a teacher thinks of wrong classes
# counts, too.
TEMPERATURE = 2.0


def load_teacher(path, labels):
    """The model that `--teacher` names.

    Args:
        path: Path of a run folder or of a `.keras` file.
        labels: List of strings, the classes that it must tell apart.
    """
    teacher = starting.load_model(path, "teacher")
    known = getattr(teacher, "labels", None)
    if known is not None and list(known) != list(labels):
        raise TrainingError(
            f"`--teacher` must have the labels of the data: {', '.join(labels)}"
            f". Received: {path}, with {', '.join(known)}."
        )
    if teacher.output.shape[1:] != (len(labels),):
        raise TrainingError(
            f"`--teacher` must return {len(labels)} scores. Received: {path}, "
            f"whose outputs have the shape {teacher.output.shape}."
        )
    return teacher


def targets(labels, scores):
    """Labels and a teacher's scores in one array, as `Distillation` takes it.

    Args:
        labels: Array of shape `(batch,)`, of classes.
        scores: Array of shape `(batch, classes)`, logits.
    """
    labels = np.asarray(labels, "float32")[:, None]
    return np.concatenate([labels, scores], axis=1)


class Distillation(keras.losses.Loss):
    """Cross entropy with labels and with a teacher's softened scores.

    Args:
        weight: Float in [0, 1], the teacher's share of the loss.
    """

    def __init__(self, weight, name="distillation"):
        super().__init__(name=name)
        self.weight = weight

    def call(self, y_true, y_pred):
        """The loss of each example; `y_true` is what `targets()` returns."""
        hard = ops.sparse_categorical_crossentropy(
            ops.cast(y_true[:, 0], "int32"), y_pred, from_logits=True
        )
        soft = ops.categorical_crossentropy(
            ops.softmax(y_true[:, 1:] / TEMPERATURE),
            y_pred / TEMPERATURE,
            from_logits=True,
        )
        # Gradients of softened scores are smaller by the square.
        soft = TEMPERATURE**2 * soft
        return (1 - self.weight) * hard + self.weight * soft


class Accuracy(keras.metrics.SparseCategoricalAccuracy):
    """Share of right classes; `y_true` is what `targets()` returns."""

    def update_state(self, y_true, y_pred, sample_weight=None):
        labels = ops.cast(y_true[:, 0], "int32")
        return super().update_state(labels, y_pred, sample_weight)
