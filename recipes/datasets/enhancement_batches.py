"""Batches of noisy and clean speech."""

import numpy as np

from datasets import acoustics
from datasets import variety
from datasets.base import DataError
from datasets.batches import MADE_NOISES
from datasets.mixing import mix
from datasets.steps import Batches

# Of the recorded noises that other voices get where there are pairs as well,
# the share that is a pair's.
PAIRED_NOISE = 0.75


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
