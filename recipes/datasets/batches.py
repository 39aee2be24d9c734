"""Batches of audio, each a pure function of the seed and the step.

Nothing here has a state: `batches[step]` is the same array whenever and
wherever it is asked for. A run that was killed goes on at any step and sees
what it would have seen; processes may share the work in any order.
"""

import functools

import numpy as np

from datasets.audio_io import samples_of
from datasets.base import DataError
from datasets.mixing import excerpt
from datasets.mixing import mix

# Keeps the draws for an order apart from those for item 0.
_ORDER = 2**32 - 1


class Batches:
    """The batches of one split, over as many epochs as are asked for.

    Step `s` is batch `s % len(batches)` of epoch `s // len(batches)`. In
    training the order is drawn anew for every epoch and a last batch that
    would not be full is left out; else the order is fixed and every item is
    served once an epoch.

    Args:
        data: A `Dataset`.
        split: String, `"train"`, `"validation"` or `"test"`.
        batch_size: Positive integer.
        training: Boolean, whether to shuffle and to augment.
        seed: Integer, seed of order and augmentation.
    """

    # Sorts neighbours in the order by length, over this many batches.
    sorted_batches = 0

    def __init__(self, data, split, batch_size, training, seed):
        self.data = data
        self.items = data[split]
        self.split = split
        if batch_size < 1:
            raise DataError(
                "`batch_size` must be a positive integer. Received: "
                f"batch_size={batch_size}."
            )
        self.batch_size = int(batch_size)
        self.training = bool(training)
        self.seed = int(seed)
        self.index, self.count = 0, 1
        self._order = functools.lru_cache(maxsize=4)(self._order_of)
        self._check_size()

    def shard(self, index, count):
        """The part of every batch that worker `index` of `count` takes.

        `batch_size` is then that of each worker: the parts of a step together
        are one batch of `count * batch_size` items.
        """
        if not 0 <= index < count:
            raise DataError(
                f"`index` must lie in [0, {count}). Received: index={index}."
            )
        shard = object.__new__(type(self))
        shard.__dict__.update(self.__dict__)
        shard.index, shard.count = index, count
        shard._order = functools.lru_cache(maxsize=4)(shard._order_of)
        shard._check_size()
        return shard

    def _check_size(self):
        if len(self) == 0:
            raise DataError(
                f"`batch_size` must be at most {len(self.items)} over all "
                f"workers, the items in the {self.split!r} split of "
                f"{self.data.name}. Received: batch_size={self.batch_size} "
                f"in {self.count} part(s)."
            )

    def __len__(self):
        """Number of steps in an epoch."""
        if self.training:
            return len(self.items) // (self.batch_size * self.count)
        items = len(range(self.index, len(self.items), self.count))
        return -(-items // self.batch_size)

    def __getitem__(self, step):
        """The batch of a step, as nested NumPy arrays."""
        epoch, batch = divmod(int(step), len(self))
        return self.collate(self.indices(epoch)[batch], epoch)

    def indices(self, epoch):
        """The items of every batch of an epoch, as arrays of indices."""
        return self._order(int(epoch) if self.training else 0)

    def _order_of(self, epoch):
        total = self.batch_size * self.count
        order = np.arange(len(self.items))
        if self.training:
            rng = np.random.default_rng([self.seed, epoch, _ORDER])
            order = rng.permutation(order)
        if self.sorted_batches:
            lengths = self.lengths[order]
            pool = total * self.sorted_batches
            if not self.training:
                pool = len(order)
            parts = [
                order[i : i + pool][
                    np.argsort(lengths[i : i + pool], kind="stable")
                ]
                for i in range(0, len(order), pool)
            ]
            order = np.concatenate(parts)
        batches = [order[i : i + total] for i in range(0, len(order), total)]
        if self.training:
            batches = batches[: len(order) // total]
            if self.sorted_batches:
                # Short ones must not all come first.
                batches = [batches[i] for i in rng.permutation(len(batches))]
        parts = [batch[self.index :: self.count] for batch in batches]
        return [part for part in parts if len(part)]

    def random(self, epoch, index):
        """The random generator for one item in one epoch."""
        return np.random.default_rng([self.seed, int(epoch), int(index)])

    def samples(self, source):
        """The float32 samples of a path or of an array."""
        return samples_of(source, self.data.rates, self.data.sample_rate)

    def noise(self, source, length, rng=None, offset=0):
        """A stretch of noise, from `offset` or from anywhere."""
        if not isinstance(source, np.ndarray):
            source = self.samples(source)
        if rng is not None:
            offset = int(rng.integers(len(source)))
        # Cut first: converting a minute to keep a second is a waste.
        return self.samples(excerpt(source, offset, length))

    def collate(self, indices, epoch):
        """Builds the batch of the items at `indices`."""
        raise NotImplementedError

    @property
    def signature(self):
        """Shape and dtype of every array, nested as they are."""
        raise NotImplementedError


class KeywordBatches(Batches):
    """`(audio, label)` for keyword spotting.

    Audio is padded or cut, at both ends alike, to one second.

    Args:
        data: A `Dataset` for `"kws"`.
        split: String.
        batch_size: Positive integer. Default: 64.
        training: Boolean, whether to shuffle and to augment.
            Default: `False`.
        seed: Integer. Default: 0.
        samples: Positive integer, the length of the audio. Default: 16000.
        max_shift: Integer, the largest shift in time, in samples, either way.
            Default: 1600, which is 100 ms.
        noise_probability: Float, the share of training clips that background
            noise is mixed into, if there is any. Default: 0.5.
        noise_snrs_db: Pair of floats, the range of signal-to-noise ratios.
            Default: `(5, 30)`.
    """

    def __init__(
        self,
        data,
        split,
        batch_size=64,
        training=False,
        seed=0,
        samples=16000,
        max_shift=1600,
        noise_probability=0.5,
        noise_snrs_db=(5.0, 30.0),
    ):
        self.length = int(samples)
        self.max_shift = int(max_shift)
        self.noise_probability = float(noise_probability)
        self.noise_snrs_db = tuple(noise_snrs_db)
        super().__init__(data, split, batch_size, training, seed)

    def collate(self, indices, epoch):
        audio = np.zeros((len(indices), self.length), "float32")
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
            place(audio[row], samples, int(shift))
            if self.data.noises and rng.random() < self.noise_probability:
                audio[row] = self._noisy(audio[row], rng)
        return audio, labels

    def _noisy(self, audio, rng):
        noises = self.data.noises
        noise = noises[rng.integers(len(noises))]
        noise = self.noise(noise, len(audio), rng)
        return mix(audio, noise, rng.uniform(*self.noise_snrs_db))[0]

    @property
    def signature(self):
        return ((None, self.length), "float32"), ((None,), "int32")


class IntentBatches(Batches):
    """`(audio, targets)` for intent recognition.

    Clips of similar length share a batch. `targets` is a dictionary of
    `"labels"`, the intents of shape `(batch, most)`, padded with 0;
    `"label_lengths"`, how many of them count; and `"sample_lengths"`, the
    samples before the padding, all int32.

    Args:
        data: A `Dataset` for `"slu"`.
        split: String.
        batch_size: Positive integer. Default: 64.
        training: Boolean, whether to shuffle and to augment.
            Default: `False`.
        seed: Integer. Default: 0.
        pad_multiple: Positive integer. Batches are padded to a multiple of
            it, so that few different shapes have to be compiled.
            Default: 8192.
        max_samples: Positive integer or `None`. Longer clips are cut.
            Default: `None`.
        noise_probability, noise_snrs_db: As in `KeywordBatches`.
        sorted_batches: Positive integer. Training sorts so many batches of
            shuffled clips by length at a time. Default: 8.
    """

    def __init__(
        self,
        data,
        split,
        batch_size=64,
        training=False,
        seed=0,
        pad_multiple=8192,
        max_samples=None,
        noise_probability=0.5,
        noise_snrs_db=(5.0, 30.0),
        sorted_batches=8,
    ):
        self.pad_multiple = int(pad_multiple)
        self.max_samples = max_samples
        self.noise_probability = float(noise_probability)
        self.noise_snrs_db = tuple(noise_snrs_db)
        self.sorted_batches = int(sorted_batches)
        self.lengths = lengths_of(data, split, lambda item: item.source)
        if max_samples:
            self.lengths = np.minimum(self.lengths, max_samples)
        self.most = max(len(item.label) for item in data[split])
        super().__init__(data, split, batch_size, training, seed)

    _noisy = KeywordBatches._noisy

    def collate(self, indices, epoch):
        lengths = self.lengths[indices].astype("int32")
        width = -(-lengths.max() // self.pad_multiple) * self.pad_multiple
        audio = np.zeros((len(indices), width), "float32")
        labels = np.zeros((len(indices), self.most), "int32")
        label_lengths = np.empty(len(indices), "int32")
        for row, index in enumerate(indices):
            item = self.items[index]
            samples = self.samples(item.source)[: lengths[row]]
            if self.training and self.data.noises:
                rng = self.random(epoch, index)
                if rng.random() < self.noise_probability:
                    samples = self._noisy(samples, rng)
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
    ):
        self.segment = int(segment)
        self.pad_multiple = int(pad_multiple)
        if not training:
            self.sorted_batches = 1
            self.lengths = lengths_of(data, split, lambda item: item.clean)
        super().__init__(data, split, batch_size, training, seed)
        drawn = any(getattr(i, "noise", i) is None for i in self.items)
        if drawn and not (data.noises and data.snrs_db):
            raise DataError(
                f"{data.name} has no `noises` or no `snrs_db` to mix its "
                f"{split!r} split with."
            )

    def utterance(self, index, epoch=0):
        """The whole `(noisy, clean)` of an item, as 1D float32 arrays."""
        return self._pair(self.items[index], self.random(epoch, index))

    def _pair(self, item, rng):
        clean = self.samples(item.clean)
        if hasattr(item, "noisy"):
            noisy = self.samples(item.noisy)
            # The converters of a published set may differ by some samples.
            length = min(len(noisy), len(clean))
            return noisy[:length], clean[:length]
        if item.noise is not None:
            noise = self.noise(item.noise, len(clean), offset=item.offset)
            return mix(clean, noise, item.snr_db)
        noises, snrs_db = self.data.noises, self.data.snrs_db
        noise = noises[rng.integers(len(noises))]
        noise = self.noise(noise, len(clean), rng)
        return mix(clean, noise, snrs_db[rng.integers(len(snrs_db))])

    def collate(self, indices, epoch):
        pairs, starts = [], []
        for index in indices:
            rng = self.random(epoch, index)
            noisy, clean = self._pair(self.items[index], rng)
            pairs.append((noisy, clean))
            spare = max(len(clean) - self.segment, 0)
            starts.append(int(rng.integers(spare + 1)) if self.training else 0)
        width = self.segment
        if not self.training:
            longest = max(len(clean) for _, clean in pairs)
            width = -(-longest // self.pad_multiple) * self.pad_multiple
        batch = np.zeros((2, len(indices), width), "float32")
        for row, (pair, start) in enumerate(zip(pairs, starts)):
            for side, samples in enumerate(pair):
                samples = samples[start : start + width]
                batch[side, row, : len(samples)] = samples
        return batch[0], batch[1]

    @property
    def signature(self):
        width = self.segment if self.training else None
        return ((None, width), "float32"), ((None, width), "float32")


def lengths_of(data, split, source_of):
    """Samples of every item of a split."""
    lengths = np.empty(len(data[split]), "int64")
    for i, item in enumerate(data[split]):
        source = source_of(item)
        if not isinstance(source, np.ndarray):
            source = samples_of(source, data.rates, data.sample_rate)
        lengths[i] = len(source)
    return lengths


def place(target, samples, shift):
    """Writes `samples` into the middle of `target`, `shift` later."""
    start = (len(target) - len(samples)) // 2 + shift
    first = max(-start, 0)
    start = max(start, 0)
    part = samples[first : first + max(len(target) - start, 0)]
    target[start : start + len(part)] = part
