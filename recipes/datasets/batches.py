"""Batches of audio for the three tasks."""

import numpy as np

from datasets import acoustics
from datasets import variety
from datasets.base import DataError
from datasets.mixing import mix
from datasets.steps import Batches
from keras_duspar.utils.audio_files import SAMPLE_RATE

# Those that change fast are the hard ones.
MADE_NOISES = ("white", "pink", "hum", "clicks", "clicks", "babble", "babble")


# Of each of them, so many recordings of so many seconds.
MADE_RECORDINGS, MADE_SECONDS = 2, 20
# Of the recorded noises that other voices get where there are pairs as well,
# the share that is a pair's.
PAIRED_NOISE = 0.75


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


class EnhancementBatches(Batches):
    """`(noisy, clean)` for speech enhancement.

    Training takes a segment of every utterance, at a place that changes with
    the epoch. Otherwise utterances are whole, sorted by length, and padded
    with silence to the longest of their batch.

    Args:
        data: A `Dataset` for `"se"`.
        split: String.
        batch_size: Positive integer. Default: 32; with whole utterances 1
            avoids padding.
        training: Boolean, whether to shuffle and to cut segments.
            Default: `False`.
        seed: Integer. Default: 0.
        segment: Positive integer, samples in a training segment.
            Default: 32000, which is 2 s.
        pad_multiple: Positive integer. Whole utterances are padded to a
            multiple of it. Default: 1.
        max_gain_db: Float. Training makes every utterance louder or softer
            by up to so much. Default: 6.
        noise_variety: Float in [0, 1], the share of training noises that are
            colored, and of those that another noise is added to, where
            noise is mixed in anew in every epoch. Default: 0.5.
        made_noise: Float in [0, 1], the share of training noises that are
            made up there: colored noise, hum, clicks, and babble out of
            other utterances. Default: 0.5.
        swap_noise: Float in [0, 1], the share of published training pairs
            whose noise is exchanged for that of another pair, so that every
            speaker is heard in every noise. Default: 0.
        variety: Float in [0, 1], the share of training segments, and of what
            `beginning()` returns, that are made to sound like other
            recordings: voices, microphones, rooms, noises and levels
            (`datasets/variety.py`). Default: 0.
    """

    def __init__(
        self,
        data,
        split,
        batch_size=32,
        training=False,
        seed=0,
        segment=32000,
        pad_multiple=1,
        max_gain_db=6.0,
        noise_variety=0.5,
        made_noise=0.5,
        swap_noise=0.0,
        variety=0.0,
    ):
        self.segment = int(segment)
        self.pad_multiple = int(pad_multiple)
        self.max_gain_db = float(max_gain_db)
        self.noise_variety = float(noise_variety)
        self.made_noise = float(made_noise)
        self.swap_noise = float(swap_noise)
        self.variety = float(variety)
        super().__init__(data, split, batch_size, training, seed)
        if not training:
            self.sorted_batches = 1
            self.lengths = self.lengths_of("clean")
        # Published pairs, whose noise others may have, too.
        self.pairs = [item for item in self.items if hasattr(item, "noisy")]
        drawn = any(getattr(i, "noise", i) is None for i in self.items)
        if drawn and not (data.noises and data.snrs_db):
            raise DataError(
                f"{data.name} has no `noises` or no `snrs_db` to mix its "
                f"{split!r} split with."
            )

    def utterance(self, index, epoch=0):
        """The whole `(noisy, clean)` of an item, as 1D float32 arrays."""
        return self._pair(self.items[index], self.random(epoch, index))

    def beginning(self, index, length):
        """The first samples of an item, varied as those of training are.

        They are the same each time: validation hears them.
        """
        noisy, clean = self.utterance(index)
        rng = self.random(0, index)
        if rng.random() < self.variety:
            return self._varied(noisy, clean, 0, rng, length)
        return noisy[:length], clean[:length]

    def _pair(self, item, rng):
        noisy, clean = self._mixture(item, rng)
        if not self.training:
            return noisy, clean
        gain = 10 ** (rng.uniform(-self.max_gain_db, self.max_gain_db) / 20)
        # Louder, but not beyond full scale.
        gain = np.float32(min(gain, 1 / max(abs(noisy).max(), 1e-6)))
        return gain * noisy, gain * clean

    def _mixture(self, item, rng):
        if hasattr(item, "noisy"):
            noisy, clean = self._published(item)
            if self.training and rng.random() < self.swap_noise:
                noise = self._noise_of_pair(len(clean), rng)
                noisy = clean + noise
            return noisy, clean
        clean = self.samples(item.clean)
        if item.noise is not None:
            noise = self.noise(item.noise, len(clean), offset=item.offset)
            return mix(clean, noise, item.snr_db)
        noise = self._draw_noise(len(clean), rng)
        if self.training:
            noise = self._vary(noise, rng)
        snrs_db = self.data.snrs_db
        return mix(clean, noise, snrs_db[rng.integers(len(snrs_db))])

    def _published(self, item):
        noisy, clean = self.samples(item.noisy), self.samples(item.clean)
        # The converters of a published set may differ by some samples.
        length = min(len(noisy), len(clean))
        return noisy[:length], clean[:length]

    def _noise_of_pair(self, length, rng):
        other = self.pairs[rng.integers(len(self.pairs))]
        noise = np.subtract(*self._published(other))
        return self.noise(noise, length, rng)

    def _draw_noise(self, length, rng):
        if self.training and rng.random() < self.made_noise:
            kind = rng.choice(MADE_NOISES)
            others = rng.integers(len(self.items), size=8)
            voices = [self.samples(self.items[i].clean) for i in others]
            return acoustics.noise(rng, kind, length, voices)
        if self.pairs and rng.random() < PAIRED_NOISE:
            return self._noise_of_pair(length, rng)
        noises = self.data.noises
        return self.noise(noises[rng.integers(len(noises))], length, rng)

    def _vary(self, noise, rng):
        """Makes many noises of few: colored, or two at once."""
        if rng.random() < self.noise_variety:
            # One pair of neighboring samples tilts the whole spectrum.
            noise = noise.copy()
            noise[1:] += rng.uniform(-0.9, 0.9) * noise[:-1]
        if rng.random() < self.noise_variety:
            other = self._draw_noise(len(noise), rng)
            noise = mix(noise, other, rng.uniform(-5, 15))[0]
        return noise

    def collate(self, indices, epoch, whole):
        pairs, starts = [], []
        for index in indices:
            rng = self.random(epoch, index)
            noisy, clean = self._pair(self.items[index], rng)
            pairs.append((noisy, clean))
            spare = max(len(clean) - self.segment, 0)
            start = int(rng.integers(spare + 1)) if self.training else 0
            if self.training and rng.random() < self.variety:
                pairs[-1] = self._varied(noisy, clean, start, rng, self.segment)
                start = 0
            starts.append(start)
        width = self.segment
        if not self.training:
            width = self.width(whole)
        batch = np.zeros((2, len(indices), width), "float32")
        for row, (pair, start) in enumerate(zip(pairs, starts)):
            for side, samples in enumerate(pair):
                samples = samples[start : start + width]
                batch[side, row, : len(samples)] = samples
        return batch[0], batch[1]

    def _varied(self, noisy, clean, start, rng, length):
        end = start + variety.longest(length)
        return variety.vary(noisy[start:end], clean[start:end], rng, length)

    @property
    def signature(self):
        width = self.segment if self.training else None
        return ((None, width), "float32"), ((None, width), "float32")


def place(target, samples, shift):
    """Writes `samples` into the middle of `target`, `shift` later."""
    start = (len(target) - len(samples)) // 2 + shift
    first = max(-start, 0)
    start = max(start, 0)
    part = samples[first : first + max(len(target) - start, 0)]
    target[start : start + len(part)] = part
