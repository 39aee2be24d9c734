"""Batches of audio, each a pure function of the seed and the step.

Nothing here has a state: `batches[step]` is the same array whenever and
wherever it is asked for. A run that was killed goes on at any step and sees
what it would have seen; processes may share the work in any order.
"""

import copy
import functools

import numpy as np

from datasets.audio_io import samples_of
from datasets.base import DataError
from datasets.mixing import excerpt

# Keeps the draws for an order apart from those for item 0.
_ORDER = 2**32 - 1


class Batches:
    """The batches of one split, over as many epochs as are asked for.

    Step `s` is batch `s % len(batches)` of epoch `s // len(batches)`. In
    training the order is drawn anew for every epoch, of the labels in the
    data's `per_epoch` so many items each, and a last batch that would not be
    full is left out; else the order is fixed and every item is
    served once per epoch.

    Args:
        data: A `Dataset`.
        split: String, `"train"`, `"validation"` or `"test"`.
        batch_size: Positive integer.
        training: Boolean, whether to shuffle and to augment.
        seed: Integer, seed of order and augmentation.
    """

    # Sorts neighbors in the order by length, over this many batches.
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
        # Of each label that an epoch only uses a part of: its items, and how
        # many of them.
        self._parts = []
        if self.training:
            labels = [getattr(item, "label", None) for item in self.items]
            for label, used in data.per_epoch.items():
                found = [i for i, other in enumerate(labels) if other == label]
                self._parts.append((np.array(found), min(used, len(found))))
        unused = sum(len(found) - used for found, used in self._parts)
        self._used = len(self.items) - unused
        self._order = functools.lru_cache(maxsize=4)(self._order_of)
        self._check_size()

    def shard(self, index, count):
        """The part of every batch that worker `index` of `count` takes.

        `batch_size` is then that of each worker: the parts of a step, one
        after the other, are one batch of `count * batch_size` items. All of
        them are as long as the longest item of the whole batch needs.
        """
        if not 0 <= index < count:
            raise DataError(
                f"`index` must lie in [0, {count}). Received: index={index}."
            )
        shard = copy.copy(self)
        shard.index, shard.count = index, count
        shard._order = functools.lru_cache(maxsize=4)(shard._order_of)
        shard._check_size()
        return shard

    def _check_size(self):
        if len(self) == 0:
            raise DataError(
                f"`batch_size` must be at most {self._used} over all "
                f"workers, the items in the {self.split!r} split of "
                f"{self.data.name}. Received: batch_size={self.batch_size} "
                f"in {self.count} part(s)."
            )

    def __len__(self):
        """Number of steps in an epoch."""
        if self.training:
            return self._used // (self.batch_size * self.count)
        items = len(range(self.index, len(self.items), self.count))
        return -(-items // self.batch_size)

    def __getitem__(self, step):
        """The batch of a step, as nested NumPy arrays."""
        epoch, batch = divmod(int(step), len(self))
        whole = self._order(epoch if self.training else 0)[batch]
        return self.collate(self._part(whole), epoch, whole)

    def indices(self, epoch):
        """The items of every batch of an epoch, as arrays of indices."""
        order = self._order(int(epoch) if self.training else 0)
        parts = (self._part(whole) for whole in order)
        return [part for part in parts if len(part)]

    def _part(self, whole):
        """Of a batch over all workers, what this one takes."""
        return np.array_split(whole, self.count)[self.index]

    def _order_of(self, epoch):
        total = self.batch_size * self.count
        order = np.arange(len(self.items))
        if self.training:
            rng = np.random.default_rng([self.seed, epoch, _ORDER])
            unused = [rng.permutation(f)[used:] for f, used in self._parts]
            order = np.delete(order, np.concatenate([[], *unused]).astype(int))
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
        return batches

    def random(self, epoch, index):
        """The random generator for one item in one epoch."""
        return np.random.default_rng([self.seed, int(epoch), int(index)])

    def samples(self, source):
        """The float32 samples of a path or of an array."""
        return samples_of(source, self.data.rates)

    def lengths_of(self, recording):
        """Samples of every item, whose recording is in such a field."""
        lengths = np.empty(len(self.items), "int64")
        for i, item in enumerate(self.items):
            if hasattr(item, "length"):
                lengths[i] = item.length
                continue
            source = getattr(item, recording)
            if not isinstance(source, np.ndarray):
                source = self.samples(source)
            lengths[i] = len(source)
        return lengths

    def width(self, whole):
        """The longest length of a batch, up to a multiple of `pad_multiple`."""
        longest = int(self.lengths[whole].max())
        return -(-longest // self.pad_multiple) * self.pad_multiple

    def noise(self, source, length, rng=None, offset=0):
        """A stretch of noise, from `offset` or from anywhere."""
        if not isinstance(source, np.ndarray):
            source = self.samples(source)
        if rng is not None:
            offset = int(rng.integers(len(source)))
        # Cut first: converting a minute to keep a second is a waste.
        return self.samples(excerpt(source, offset, length))

    def collate(self, indices, epoch, whole):
        """Builds the batch of the items at `indices`.

        Args:
            indices: Array of integers.
            epoch: Integer.
            whole: Array of integers, the items of all workers, which have to
                be padded alike.
        """
        raise NotImplementedError

    @property
    def signature(self):
        """Shape and dtype of every array, nested as they are."""
        raise NotImplementedError
