"""Keyword spotting: which of some words is spoken in a second of audio.

    python recipes/kws.py
    python recipes/kws.py --data speech_commands --preset paper --model gru

A log-mel front end, two recurrent layers and a linear classifier on every
frame, whose scores are averaged over time; cross entropy. Without `--data` 35
words are spoken by a synthesizer, in voices that differ between training and
test.
"""

import dataclasses
import sys

import prepare  # noqa: F401 - before Keras is imported

# isort: split
import keras
import numpy as np

import trainer
from datasets.batches import KeywordBatches
from keras_duspar import models
from trainer.task import confusion_rows


@dataclasses.dataclass(kw_only=True)
class Config(trainer.Config):
    task = "kws"
    # Scores are averaged over time, so that little must be remembered, and
    # gates that are quick at the start leave more zeros than the layers' own.
    quick = [0.0, 0.0]
    presets = {
        "demo": {"epochs": 15, "gate_biases": quick},
        # The paper gives epochs, batch size, loss and front end; the
        # optimizer, the augmentation and the biases of the gates are ours.
        "paper": {"epochs": 100, "batch_size": 64, "gate_biases": quick},
    }


class KeywordSpotting(trainer.Task):
    config_class = Config
    metrics = (
        lambda: keras.metrics.SparseCategoricalAccuracy(name="accuracy"),
    )

    def build(self):
        return models.keyword_spotter(
            num_classes=len(self.data.labels), **self.recurrent_arguments()
        )

    def batches(self, split, training=False):
        return KeywordBatches(
            self.data,
            split,
            self.config.batch_size,
            training,
            self.config.seed,
        )

    def loss(self, phase):
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def predict(self, model, split):
        """Logits and true words of a split."""
        served = [
            (model.predict_on_batch(audio), label)
            for audio, label in self.serve(self.batches(split))
        ]
        return (np.concatenate(part) for part in zip(*served))

    def validate(self, model):
        logits, labels = self.predict(model, "validation")
        return {
            "val_loss": float(
                self.loss(0)(labels, keras.ops.convert_to_tensor(logits))
            ),
            "val_accuracy": float(np.mean(logits.argmax(axis=1) == labels)),
        }

    def test(self, model, folder):
        logits, labels = self.predict(model, "test")
        words = logits.argmax(axis=1)
        folder.write_csv(
            "confusion.csv", confusion_rows(self.data.labels, labels, words)
        )
        return {
            "accuracy": float(np.mean(words == labels)),
            "count": len(labels),
        }

    def headline(self, test):
        return {
            "test accuracy": f"{100 * test['accuracy']:.2f} % of "
            f"{test['count']} recordings"
        }


if __name__ == "__main__":
    sys.exit(trainer.main(KeywordSpotting))
