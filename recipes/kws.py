"""Keyword spotting: which of some words is spoken in a second of audio.

    python recipes/kws.py
    python recipes/kws.py --data speech_commands --preset paper --model gru
    python recipes/kws.py --data speech_commands --words commands12

A log-mel front end, two recurrent layers and a linear classifier on every
frame, whose scores are averaged over time; cross entropy. Without `--data` 35
words are spoken by a synthesizer, in voices that differ between training and
test. `--words commands12` tells ten commands, unknown words and silence apart.
"""

import dataclasses
import sys

import prepare  # noqa: F401 - before Keras is imported

# isort: split
import keras
import numpy as np

import keras_duspar
import trainer
import yaml_tables
from datasets import commands12
from datasets import sources
from datasets.batches import KeywordBatches
from keras_duspar import models
from keras_duspar.utils import checks
from keras_duspar.utils.audio_files import SAMPLE_RATE
from trainer.config import check_range
from trainer.config import setting
from trainer.task import confusion_rows
from trainer.task import mask_features


@dataclasses.dataclass(kw_only=True)
class Config(trainer.Config):
    task = "kws"
    presets = yaml_tables.beside(__file__)

    words: str = setting(
        "all",
        "the classes: all words, or ten commands, unknown and silence",
        choices=sources.WORDS,
    )
    other_speech: str | None = setting(
        None,
        "folder of speech without the commands, as unknown words in training",
    )
    context: float = setting(
        0.0,
        "seconds of other sound before the clips of half the batches",
    )
    gain_db: list = setting(
        [-30.0, 6.0],
        "range of the levels of training clips, relative to the recording",
        nargs=2,
        type=float,
    )
    noise_share: float = setting(
        0.5, "share of the training clips that noise is mixed into"
    )
    noise_snr: list = setting(
        [0.0, 30.0],
        "range of its signal-to-noise ratios, in dB",
        nargs=2,
        type=float,
    )

    def __post_init__(self):
        super().__post_init__()
        checks.choice("words", self.words, sources.WORDS)
        checks.number("context", self.context, "[0, inf)")
        checks.number("noise_share", self.noise_share, "[0, 1]")
        check_range("gain_db", self.gain_db)
        check_range("noise_snr", self.noise_snr)

    @property
    def name(self):
        name = super().name
        return name if self.words == "all" else f"{name}-{self.words}"


class KeywordSpotting(trainer.Task):
    config_class = Config
    batches_class = KeywordBatches
    metrics = (
        lambda: keras.metrics.SparseCategoricalAccuracy(name="accuracy"),
    )

    def data_arguments(self):
        return {
            "words": self.config.words,
            "other_speech": self.config.other_speech,
        }

    def build(self):
        return models.keyword_spotter(
            labels=self.data.labels, **self.recurrent_arguments()
        )

    def batch_options(self):
        return {
            "noise_probability": self.config.noise_share,
            "noise_snrs_db": self.config.noise_snr,
            "made_noise": 0.5,
            "gain_db": self.config.gain_db,
            "context": round(self.config.context * SAMPLE_RATE),
        }

    def augmented(self, model):
        frames = SAMPLE_RATE // keras_duspar.audio.LogMel().hop_length
        pooled = frames if self.config.context else None
        trained = mask_features(model, self.config.seed, pooled)
        if self.config.words == "all":
            return trained
        # Unknown is not more likely than the classes say because training
        # has more of it: what that adds to a score is added here.
        shift = commands12.shift_of_unknown(self.data)
        return keras.Model(trained.input, trained.output + shift)

    def loss(self, phase):
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def predict(self, model, split, change=lambda audio: audio):
        """Logits and true words of a split, whose audio may be changed."""
        served = [
            (model.predict_on_batch(change(audio)), label)
            for audio, label in self.serve(self.batches(split))
        ]
        return (np.concatenate(part) for part in zip(*served))

    def accuracy(self, model, split, change):
        """Share of the recordings that are right though they are changed."""
        logits, labels = self.predict(model, split, change)
        return float(np.mean(logits.argmax(axis=1) == labels))

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


if __name__ == "__main__":
    sys.exit(trainer.main(KeywordSpotting))
