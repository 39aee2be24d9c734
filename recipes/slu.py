"""Intent recognition: what a spoken command asks for.

    python recipes/slu.py
    python recipes/slu.py --data fluent_speech_commands --preset paper
    python recipes/slu.py --data speech_commands

A log-mel front end, two recurrent layers, each followed by a mean over four
frames, and a linear classifier, trained by CTC with a cross entropy beside it
in the first half of the epochs. A command is understood if the decoded intent
is exactly right. Without `--data` commands for 31 intents are spoken by a
synthesizer; of a folder of Speech Commands they are composed word by word.
"""

import dataclasses
import functools
import sys

import prepare  # noqa: F401 - before Keras is imported

# isort: split
import keras
import numpy as np
from keras import ops

import trainer
import yaml_tables
from datasets.batches import IntentBatches
from keras_duspar import losses
from keras_duspar import models
from keras_duspar.utils import checks
from trainer.config import setting
from trainer.task import confusion_rows

CTC, CTC_AND_CROSS_ENTROPY = "ctc", "ctc and cross entropy"


@dataclasses.dataclass(kw_only=True)
class Config(trainer.Config):
    task = "slu"
    presets = yaml_tables.beside(__file__)

    cross_entropy_epochs: float = setting(
        0.5, "share of the epochs, from the first, with a cross entropy too"
    )
    cross_entropy_weight: float = setting(5.0, "its weight beside CTC")

    def __post_init__(self):
        super().__post_init__()
        share = self.cross_entropy_epochs
        checks.number("cross_entropy_epochs", share, "[0, 1]")
        weight = self.cross_entropy_weight
        checks.number("cross_entropy_weight", weight, "[0, inf)")


class LastCrossEntropy(keras.losses.Loss):
    """Cross entropy of a command's last group of frames, over all classes.

    CTC leaves open where in a command its intent is told, and first learns to
    tell it anywhere at all. That is soon its beginning, of which all commands
    look alike, and there it stays. This tells CTC to wait for the end.

    Targets are packed by `keras_duspar.losses.pack_ctc_targets()`. Of several
    labels the last counts.
    """

    def call(self, y_true, y_pred):
        y_true = ops.cast(y_true, "int32")
        frames, labels = y_true[:, :1], y_true[:, 1:]
        count = ops.sum(ops.cast(labels >= 0, "int32"), axis=1, keepdims=True)
        label = ops.take_along_axis(labels, count - 1, axis=1)[:, 0]
        last = ops.maximum(frames - 1, 0)[..., None]
        scores = ops.take_along_axis(y_pred, last, axis=1)[:, 0]
        return keras.losses.sparse_categorical_crossentropy(
            label, scores, from_logits=True
        )


class CTCAndCrossEntropy(losses.CTC):
    """CTC plus a weighted `LastCrossEntropy`."""

    def __init__(self, weight, **kwargs):
        super().__init__(**kwargs)
        self.weight = weight
        self.cross_entropy = LastCrossEntropy()

    def call(self, y_true, y_pred):
        ctc = super().call(y_true, y_pred)
        return ctc + self.weight * self.cross_entropy.call(y_true, y_pred)


class IntentRecognition(trainer.Task):
    config_class = Config
    batches_class = IntentBatches
    tested = "commands"

    def build(self):
        return models.intent_recognizer(
            labels=self.data.labels, **self.recurrent_arguments()
        )

    @functools.cached_property
    def group(self):
        """Samples in a group of frames, whatever the layers are."""
        layers = self.config.num_layers
        model = models.intent_recognizer(units=1, num_layers=layers)
        return models.group_samples(model)

    def batch_options(self):
        return {"pad_multiple": 16384}

    def feed(self, batch):
        audio, targets = batch
        labels = [
            row[:length]
            for row, length in zip(targets["labels"], targets["label_lengths"])
        ]
        # Silence fills the last group: a command's end is heard, too.
        groups = -(-targets["sample_lengths"] // self.group)
        groups = np.minimum(groups, audio.shape[1] // self.group)
        return audio, losses.pack_ctc_targets(labels, groups)

    def phase(self, epoch):
        share = epoch / self.config.epochs
        if share < self.config.cross_entropy_epochs:
            return CTC_AND_CROSS_ENTROPY
        return CTC

    def loss(self, phase):
        # Noise may make a command so short that CTC has no alignment.
        if phase == CTC:
            return losses.CTC(zero_infinity=True)
        return CTCAndCrossEntropy(
            self.config.cross_entropy_weight, zero_infinity=True
        )

    def unpadded(self, split, count=None):
        # Of a batch of similar lengths, as much as all of them have, in whole
        # groups: JAX compiles anew for every length.
        batches = self.batches(split)
        for step in range(count or len(batches)):
            audio, targets = batches[step]
            groups = targets["sample_lengths"].min() // self.group
            yield audio[:, : max(groups, 1) * self.group]

    def predict(self, model, split, change=lambda audio: audio):
        """Decoded and true intents of a split, and the CTC loss.

        The audio may be changed before.
        """
        decoded, true, values = [], [], []
        for audio, targets in self.serve(self.batches(split)):
            logits = model.predict_on_batch(change(audio))
            decoded += losses.ctc_decode(logits, targets[:, 0])[0]
            true += [list(row[row >= 0]) for row in targets[:, 1:]]
            loss = losses.CTC(reduction=None, zero_infinity=True)
            loss = loss(targets, ops.convert_to_tensor(logits))
            values.append(ops.convert_to_numpy(loss))
        return decoded, true, np.concatenate(values)

    def accuracy(self, model, split, change):
        """Share of the commands that are right though they are changed."""
        decoded, true, _ = self.predict(model, split, change)
        return accuracy(decoded, true)

    def validate(self, model):
        decoded, true, values = self.predict(model, "validation")
        return {
            "val_loss": float(values.mean()),
            "val_accuracy": accuracy(decoded, true),
        }

    def test(self, model, folder):
        decoded, true, _ = self.predict(model, "test")
        none = len(self.data.labels)
        folder.write_csv(
            "confusion.csv",
            confusion_rows(
                self.data.labels,
                [intents[0] for intents in true],
                [row[0] if len(row) == 1 else none for row in decoded],
            ),
        )
        return {"accuracy": accuracy(decoded, true), "count": len(true)}


def accuracy(decoded, true):
    """Share of the commands whose intents are exactly right."""
    return float(np.mean([list(a) == list(b) for a, b in zip(decoded, true)]))


if __name__ == "__main__":
    sys.exit(trainer.main(IntentRecognition))
