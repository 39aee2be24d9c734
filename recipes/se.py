"""Speech enhancement: clean speech from noisy speech, 2 ms later.

    python recipes/se.py
    python recipes/se.py --data voicebank_demand --preset paper

A linear encoder of frames of 32 samples, four recurrent layers, a mask, a
linear decoder and overlap-add. Training minimizes a sum of squared error,
PMSQE, STOI loss and negative SI-SNR, the paper's after a longer time with the
squared error alone. Without `--data` sentences are spoken by a synthesizer and
mixed with noise.
"""

import dataclasses
import sys

import prepare  # noqa: F401 - before Keras is imported

# isort: split
import keras
import numpy as np
import soundfile

import trainer
import yaml_tables
from datasets.enhancement_batches import EnhancementBatches
from keras_duspar import losses
from keras_duspar import metrics
from keras_duspar import models
from keras_duspar.utils import checks
from keras_duspar.utils.audio_files import SAMPLE_RATE
from tasks import TASKS
from trainer.config import setting

METRICS = TASKS["se"].metrics


@dataclasses.dataclass(kw_only=True)
class Config(trainer.Config):
    task = "se"
    presets = yaml_tables.beside(__file__)

    units: int = setting(116, "width of the recurrent layers")
    num_layers: int = setting(4, "number of recurrent layers")
    segment: float = setting(2.0, "seconds of a training example")
    validation_segment: float = setting(
        2.0, "seconds of each utterance that validation and profile hear"
    )
    mask_floor: float = setting(
        0.0, "least share of a feature that the mask leaves"
    )
    swap_noise: float = setting(
        0.5, "share of training pairs that get the noise of another pair"
    )
    variety: float = setting(
        0.0,
        "share of the segments, in training and validation, that are made to "
        "sound like other recordings: voices, microphones, rooms, noises, "
        "levels",
    )
    other_speech: str | None = setting(
        None,
        "folder of Speech Commands, whose clean words are more voices and "
        "microphones in training",
    )
    mse_epochs: float = setting(
        200 / 280, "share of the epochs, from the first, with MSE alone"
    )
    mse_weight: float = setting(4e5, "weight of MSE in the sum of losses")
    pmsqe_weight: float = setting(1.0, "weight of PMSQE")
    stoi_weight: float = setting(3.5, "weight of the STOI loss")
    si_snr_weight: float = setting(0.5, "weight of the negative SI-SNR")

    def __post_init__(self):
        super().__post_init__()
        # The losses look at frames of 512 samples.
        for name in ("segment", "validation_segment"):
            checks.number(name, getattr(self, name), "[0.032, inf)")
        checks.number("mse_epochs", self.mse_epochs, "[0, 1]")
        checks.number("mask_floor", self.mask_floor, "[0, 1)")
        checks.number("swap_noise", self.swap_noise, "[0, 1]")
        checks.number("variety", self.variety, "[0, 1]")


class SpeechEnhancement(trainer.Task):
    config_class = Config
    batches_class = EnhancementBatches
    best_by = ("-val_loss",)

    def data_arguments(self):
        return {"other_speech": self.config.other_speech}

    def build(self):
        return models.speech_enhancer(
            mask_floor=self.config.mask_floor, **self.recurrent_arguments()
        )

    def batch_options(self):
        return {
            "segment": self.segment,
            "pad_multiple": SAMPLE_RATE,
            "swap_noise": self.config.swap_noise,
            "variety": self.config.variety,
        }

    @property
    def segment(self):
        return round(self.config.segment * SAMPLE_RATE)

    @property
    def validation_segment(self):
        return round(self.config.validation_segment * SAMPLE_RATE)

    def adapt(self, model):
        pass  # nothing in the enhancer depends on the data's statistics

    def augmented(self, model):
        # A model of its own: the one that is saved keeps its name and is
        # never compiled.
        return keras.Model(model.input, model.output)

    def phase(self, epoch):
        return int(epoch / self.config.epochs >= self.config.mse_epochs)

    def loss(self, phase):
        config = self.config
        if phase == 0:
            # With its weight in the sum, so that the optimizer's state still
            # fits when the other terms come in.
            return losses.Enhancement(config.mse_weight, 0, 0, 0)
        return losses.Enhancement(
            config.mse_weight,
            config.pmsqe_weight,
            config.stoi_weight,
            config.si_snr_weight,
        )

    def utterances(self, split, count=None):
        """The first whole noisy and clean utterances of a split."""
        batches = self.batches(split)
        total = len(batches.items)
        return [batches.utterance(i) for i in range(min(count or total, total))]

    def unpadded(self, split, count=None):
        # Long utterances at a thousand frames per second take long to count.
        for noisy, _ in self.utterances(split, 16 if count is None else 4):
            yield noisy[None, : self.validation_segment]

    def validate(self, model):
        """The sum of losses over the beginnings of all utterances.

        With `variety` they are varied, too: a model for other recordings is
        not the one that is best in the room it was trained in.
        """
        batches = self.batches("validation")
        length = self.validation_segment
        audio = np.zeros((2, len(batches.items), length))
        for i in range(len(batches.items)):
            for side, samples in zip(audio, batches.beginning(i, length)):
                side[i, : len(samples)] = samples
        noisy, clean = audio.astype("float32")
        if getattr(self, "scored_model", None) is not model:
            self.scored_model = model
            self.scored = keras.Model(model.input, model.output)
            self.scored.compile(
                loss=self.loss(1),
                metrics=[
                    losses.NegativeSISNR(name="negative_si_snr"),
                    losses.STOI(name="stoi_loss"),
                ],
            )
        values = self.scored.evaluate(
            noisy, clean, self.config.batch_size, verbose=0, return_dict=True
        )
        return {
            "val_loss": values["loss"],
            "val_si_snr": -values["negative_si_snr"],
            "val_stoi": 1 - values["stoi_loss"],
        }

    def test(self, model, folder):
        items = self.data["test"]
        pairs = self.utterances("test")
        enhanced = enhance(model, [noisy for noisy, _ in pairs])
        result = {}
        utterances = {}
        for name, estimates in (
            ("noisy", [noisy for noisy, _ in pairs]),
            ("enhanced", enhanced),
        ):
            scores = metrics.evaluate_enhancement(
                [
                    (item.id, clean, estimate)
                    for item, (_, clean), estimate in zip(
                        items, pairs, estimates
                    )
                ],
                workers=None if len(pairs) > 32 else 1,
                verbose=int(self.progress),
            )
            utterances[name] = scores["utterances"]
            for metric in METRICS:
                result.setdefault(metric, {})[name] = scores[metric]
                failed = len(scores["failed"][metric])
                result["failed"] = result.get("failed", 0) + failed
        result["count"] = len(pairs)
        self.write_examples(folder, pairs, enhanced, utterances)
        return result

    def write_examples(self, folder, pairs, enhanced, utterances):
        """Some utterances before and after, as audio with their scores."""
        rows = []
        chosen = np.linspace(0, len(pairs) - 1, min(3, len(pairs)))
        for number, index in enumerate(chosen.astype(int), 1):
            row = {"id": self.data["test"][index].id}
            snr = getattr(self.data["test"][index], "snr_db", None)
            if snr is not None:
                row["snr_db"] = snr
            noisy, clean = pairs[index]
            for kind, samples in (
                ("noisy", noisy),
                ("enhanced", enhanced[index]),
                ("clean", clean),
            ):
                row[kind] = f"{number}_{kind}.wav"
                with folder.replacing(f"examples/{row[kind]}") as path:
                    soundfile.write(path, samples, SAMPLE_RATE, "PCM_16")
            for metric in METRICS:
                row[metric] = {
                    kind: scores[index][metric]
                    for kind, scores in utterances.items()
                }
            rows.append(row)
        folder.write_json("examples/examples.json", rows)

    def headline(self, test):
        return {
            label: f"{test[metric]['noisy']:.3f} noisy, "
            f"{test[metric]['enhanced']:.3f} enhanced"
            for metric, label in zip(METRICS, ("PESQ-WB", "STOI", "SI-SDR dB"))
            if None not in test[metric].values()
        }


def enhance(model, recordings, batch_size=16):
    """Enhances recordings of different lengths, some at a time.

    The model is causal, so that silence at the end changes nothing before it;
    lengths are rounded up for few of them to be compiled.
    """
    order = sorted(range(len(recordings)), key=lambda i: len(recordings[i]))
    result = [None] * len(recordings)
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        longest = len(recordings[chosen[-1]])
        width = -(-longest // SAMPLE_RATE) * SAMPLE_RATE
        audio = np.zeros((len(chosen), width), "float32")
        for row, index in zip(audio, chosen):
            row[: len(recordings[index])] = recordings[index]
        for row, index in zip(model.predict_on_batch(audio), chosen):
            result[index] = row[: len(recordings[index])]
    return result


if __name__ == "__main__":
    sys.exit(trainer.main(SpeechEnhancement))
