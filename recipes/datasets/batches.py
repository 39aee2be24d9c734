"""Batches of words and of commands."""

import numpy as np

from datasets import acoustics
from datasets.mixing import mix
from datasets.steps import Batches
from keras_duspar.utils.audio_files import SAMPLE_RATE

# Those that change fast are the hard ones.
MADE_NOISES = ("white", "pink", "hum", "clicks", "clicks", "babble", "babble")

# Of each of them, so many recordings of so many seconds.
MADE_RECORDINGS, MADE_SECONDS = 2, 20


class NoisyBatches(Batches):
    """Batches that vary noise and level of the training clips.

    Args:
        data: A `Dataset`.
        split: String.
        batch_size: Positive integer. Default: 64.
        training: Boolean, whether to shuffle and to augment.
            Default: `False`.
        seed: Integer. Default: 0.
        noise_probability: Float, the share of training clips that background
            noise is mixed into, if there is any. Default: 0.5.
        noise_snrs_db: Pair of floats, the range of signal-to-noise ratios.
            Default: `(5, 30)`.
        made_noise: Float in [0, 1], the share of these noises that are made
            up there: colored noise, hum, clicks, and babble out of other
            clips. Default: 0.
        gain_db: Pair of floats, the range of gains, in decibels. Clips that
            would exceed full scale are only made as loud as that.
            Default: `(0, 0)`.
    """

    def __init__(
        self,
        data,
        split,
        batch_size=64,
        training=False,
        seed=0,
        noise_probability=0.5,
        noise_snrs_db=(5.0, 30.0),
        made_noise=0.0,
        gain_db=(0.0, 0.0),
    ):
        super().__init__(data, split, batch_size, training, seed)
        self.noise_probability = float(noise_probability)
        self.noise_snrs_db = tuple(noise_snrs_db)
        self.made_noise = float(made_noise)
        self.gain_db = tuple(gain_db)
        self.made_noises = []
        if self.training and self.made_noise and self.noise_probability:
            self.made_noises = self._make_noises()

    def _make_noises(self):
        # Once: to make a second of noise takes longer than all the rest.
        rng = np.random.default_rng(self.seed)
        length = MADE_SECONDS * SAMPLE_RATE
        noises = []
        for kind in MADE_NOISES * MADE_RECORDINGS:
            others = rng.integers(len(self.items), size=(8, MADE_SECONDS))
            voices = [
                np.concatenate(
                    [self.samples(self.items[i].source) for i in row]
                )
                for row in (others if kind == "babble" else ())
            ]
            noises.append(acoustics.noise(rng, kind, length, voices))
        return noises

    def augment(self, audio, rng):
        """`audio` with noise, as often as it shall be, and at another level."""
        return self.change_level(self.add_noise(audio, rng), rng)

    def change_level(self, audio, rng):
        """`audio`, louder or softer."""
        if self.gain_db == (0, 0):
            return audio
        gain = 10 ** (rng.uniform(*self.gain_db) / 20)
        if gain > 1:
            gain = min(gain, 1 / max(audio.max(), -audio.min(), 1e-6))
        return np.float32(gain) * audio

    def add_noise(self, audio, rng):
        """`audio`, or as often as it shall be `audio` with noise."""
        noises = self.data.noises
        if not (noises or self.made_noises):
            return audio
        if rng.random() >= self.noise_probability:
            return audio
        if self.made_noises and (not noises or rng.random() < self.made_noise):
            noises = self.made_noises
        noise = noises[rng.integers(len(noises))]
        noise = self.noise(noise, len(audio), rng)
        return mix(audio, noise, rng.uniform(*self.noise_snrs_db))[0]


class KeywordBatches(NoisyBatches):
    """`(audio, label)` for keyword spotting.

    Audio is padded or cut, at both ends alike, to one second.

    Args:
        *args, **kwargs: Those of `NoisyBatches`; the data is for `"kws"`.
        samples: Positive integer, the length of the audio. Default: 16000.
        max_shift: Integer, the largest shift in time, in samples, either way.
            Default: 1600, which is 100 ms.
        context: Integer, samples of something else that the clips of every
            other training batch follow on: another clip, or silence.
            Default: 0.
    """

    def __init__(
        self, *args, samples=16000, max_shift=1600, context=0, **kwargs
    ):
        super().__init__(*args, **kwargs)
        self.max_shift = int(max_shift)
        self.length = int(samples)
        self.context = int(context) if self.training else 0

    def collate(self, indices, epoch, whole):
        # From states of zeros, too, as a recording begins with them.
        follows = self.context and self.random(epoch, whole[0]).random() < 0.5
        context = self.context if follows else 0
        audio = np.zeros((len(indices), context + self.length), "float32")
        labels = np.empty(len(indices), "int32")
        for row, index in enumerate(indices):
            item = self.items[index]
            samples = self.samples(item.source)
            labels[row] = item.label
            if not self.training:
                place(audio[row], samples, 0)
                continue
            rng = self.random(epoch, index)
            shift = rng.integers(-self.max_shift, self.max_shift + 1)
            before, clip = np.split(audio[row], [context])
            place(clip, samples, int(shift))
            if context and rng.random() < 0.75:
                other = self.items[rng.integers(len(self.items))]
                place(before, self.samples(other.source), 0)
            audio[row] = self.augment(audio[row], rng)
        return audio, labels

    @property
    def signature(self):
        length = None if self.context else self.length
        return ((None, length), "float32"), ((None,), "int32")


class IntentBatches(NoisyBatches):
    """`(audio, targets)` for intent recognition.

    Clips of similar length share a batch. `targets` is a dictionary of
    `"labels"`, the intents of shape `(batch, most)`, padded with 0;
    `"label_lengths"`, how many of them count; and `"sample_lengths"`, the
    samples before the padding, all int32.

    Args:
        *args, **kwargs: Those of `NoisyBatches`; the data is for `"slu"`.
        pad_multiple: Positive integer. Batches are padded to a multiple of
            it, so that few different shapes have to be compiled.
            Default: 8192.
        max_samples: Positive integer or `None`. Longer clips are cut.
            Default: `None`.
        sorted_batches: Positive integer. Training sorts so many batches of
            shuffled clips by length at a time. Default: 8.
    """

    def __init__(
        self,
        *args,
        pad_multiple=8192,
        max_samples=None,
        sorted_batches=8,
        **kwargs,
    ):
        super().__init__(*args, **kwargs)
        self.pad_multiple = int(pad_multiple)
        self.sorted_batches = int(sorted_batches)
        self.lengths = self.lengths_of("source")
        if max_samples:
            self.lengths = np.minimum(self.lengths, max_samples)
        self.most = max(len(item.label) for item in self.items)

    def collate(self, indices, epoch, whole):
        lengths = self.lengths[indices].astype("int32")
        width = self.width(whole)
        audio = np.zeros((len(indices), width), "float32")
        labels = np.zeros((len(indices), self.most), "int32")
        label_lengths = np.empty(len(indices), "int32")
        for row, index in enumerate(indices):
            item = self.items[index]
            samples = self.samples(item.source)[: lengths[row]]
            if self.training:
                samples = self.augment(samples, self.random(epoch, index))
            audio[row, : len(samples)] = samples
            label_lengths[row] = len(item.label)
            labels[row, : len(item.label)] = item.label
        return audio, {
            "labels": labels,
            "label_lengths": label_lengths,
            "sample_lengths": lengths,
        }

    @property
    def signature(self):
        return ((None, None), "float32"), {
            "labels": ((None, self.most), "int32"),
            "label_lengths": ((None,), "int32"),
            "sample_lengths": ((None,), "int32"),
        }


def place(target, samples, shift):
    """Writes `samples` into the middle of `target`, `shift` later."""
    start = (len(target) - len(samples)) // 2 + shift
    first = max(-start, 0)
    start = max(start, 0)
    part = samples[first : first + max(len(target) - start, 0)]
    target[start : start + len(part)] = part
