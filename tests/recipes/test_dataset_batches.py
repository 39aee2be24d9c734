"""Every batch is a pure function of the seed and the step."""

import numpy as np
import pytest

from datasets import base
from datasets.batches import IntentBatches
from datasets.batches import KeywordBatches
from datasets.batches import place
from datasets.enhancement_batches import EnhancementBatches
from tests.recipes.fake_data import command_data
from tests.recipes.fake_data import noise
from tests.recipes.fake_data import speech_data
from tests.recipes.fake_data import word_data

pytestmark = pytest.mark.any_backend


MAKERS = {
    "keywords": lambda **k: KeywordBatches(
        word_data(noises=(noise(20000),)), "train", 8, True, **k
    ),
    "intents": lambda **k: IntentBatches(command_data(), "train", 8, True, **k),
    "enhancement": lambda **k: EnhancementBatches(
        speech_data(), "train", 3, True, segment=6000, **k
    ),
}


def flat(batch):
    first, second = batch
    second = second.values() if isinstance(second, dict) else [second]
    return [first, *second]


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(flat(a), flat(b)))


@pytest.mark.parametrize("task", MAKERS)
def test_a_step_is_the_same_whenever_it_is_asked_for(task):
    one, other = MAKERS[task](seed=4), MAKERS[task](seed=4)
    steps = 3 * len(one)
    straight = [one[s] for s in range(steps)]
    for step in np.random.default_rng(0).permutation(steps):
        assert same(straight[step], other[step])
    assert not same(straight[0], straight[len(one)])  # the next epoch
    assert not same(straight[0], MAKERS[task](seed=5)[0])


@pytest.mark.parametrize("task", MAKERS)
def test_every_item_comes_at_most_once_an_epoch(task):
    batches = MAKERS[task](seed=0)
    for epoch in range(3):
        seen = np.concatenate(batches.indices(epoch))
        assert len(seen) == len(set(seen)) == len(batches) * batches.batch_size
        assert len(batches.items) - len(seen) < batches.batch_size


@pytest.mark.parametrize("task", MAKERS)
@pytest.mark.parametrize("count", [2, 3])
def test_shards_together_are_the_batch(task, count):
    whole = MAKERS[task](seed=2)
    whole.batch_size = 4 * count if task != "enhancement" else 2 * count
    part = MAKERS[task](seed=2)
    part.batch_size = whole.batch_size // count
    shards = [part.shard(i, count) for i in range(count)]
    assert {len(shard) for shard in shards} == {len(whole)}
    for step in range(len(whole) + 1):
        pieces = [shard[step][0] for shard in shards]
        np.testing.assert_array_equal(np.concatenate(pieces), whole[step][0])


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_evaluation_serves_everything_once_in_order(count):
    data = word_data()
    seen = []
    for i in range(count):
        shard = KeywordBatches(data, "validation", 2).shard(i, count)
        assert len(shard.indices(0)) == len(shard)
        seen += np.concatenate(shard.indices(7)).tolist()
    assert sorted(seen) == list(range(7))
    batches = KeywordBatches(data, "validation", 3)
    audio = np.concatenate([batches[s][0] for s in range(len(batches))])
    expected = [item.source for item in data["validation"]]
    np.testing.assert_array_equal(audio, expected)


def test_keywords_are_shifted_and_noise_is_mixed_in():
    data = word_data(noises=(noise(20000).astype("float32"),))
    options = dict(batch_size=50, training=True, seed=1)
    shifted, labels = KeywordBatches(
        data, "train", noise_probability=0, **options
    )[0]
    order = KeywordBatches(data, "train", **options).indices(0)[0]
    starts = []
    for row, index in enumerate(order):
        clean = data["train"][index].source
        assert labels[row] == data["train"][index].label
        for shift in range(-1600, 1601):
            expected = np.zeros(16000, "float32")
            place(expected, clean, shift)
            if np.array_equal(expected, shifted[row]):
                starts.append(shift)
                break
    assert len(starts) == 50
    assert len(set(starts)) > 40
    noisy, _ = KeywordBatches(data, "train", noise_probability=0.5, **options)[
        0
    ]
    changed = [not np.array_equal(a, b) for a, b in zip(noisy, shifted)]
    assert 15 <= sum(changed) <= 35
    ratios = [
        10 * np.log10(np.sum(b**2) / np.sum((a - b) ** 2))
        for a, b, c in zip(noisy, shifted, changed)
        if c
    ]
    assert min(ratios) >= 5 and max(ratios) <= 30


@pytest.mark.parametrize("samples", [10, 11, 9, 4, 30, 31])
def test_place_keeps_the_middle(samples):
    target = np.zeros(10)
    place(target, np.arange(1.0, samples + 1), 0)
    expected = np.arange(1.0, samples + 1)
    if samples >= 10:
        start = -((10 - samples) // 2)
        np.testing.assert_array_equal(target, expected[start : start + 10])
    else:
        assert np.trim_zeros(target).tolist() == expected.tolist()
    for shift in (-40, -3, 3, 9, 40):
        place(np.zeros(10), np.ones(samples), shift)


def test_intents_keep_true_lengths():
    data = command_data()
    batches = IntentBatches(data, "train", 8, True, seed=3, pad_multiple=1000)
    for step in range(len(batches)):
        audio, targets = batches[step]
        indices = batches.indices(0)[step]
        assert audio.shape[1] % 1000 == 0
        assert audio.shape[1] - targets["sample_lengths"].max() < 1000
        for row, index in enumerate(indices):
            item = data["train"][index]
            length = targets["sample_lengths"][row]
            assert length == len(item.source)
            np.testing.assert_array_equal(audio[row, :length], item.source)
            assert not audio[row, length:].any()
            count = targets["label_lengths"][row]
            assert tuple(targets["labels"][row, :count]) == item.label
            assert not targets["labels"][row, count:].any()


def test_clips_of_similar_length_share_a_batch():
    data = command_data(512)

    def padding(sorted_batches):
        batches = IntentBatches(
            data,
            "train",
            16,
            True,
            sorted_batches=sorted_batches,
            pad_multiple=1,
        )
        lengths = [batches.lengths[i] for i in batches.indices(1)]
        # Short and long batches are mixed over the epoch.
        means = [part.mean() for part in lengths]
        assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.6
        return sum((part.max() - part).sum() for part in lengths)

    assert padding(8) < 0.25 * padding(1)


def test_long_commands_are_cut():
    batches = IntentBatches(command_data(), "test", 9, max_samples=5000)
    audio, targets = batches[0]
    assert audio.shape == (9, 8192)
    assert targets["sample_lengths"].max() == 5000


def test_files_and_arrays_give_the_same_batches(tmp_path):
    import soundfile

    arrays = word_data(10)
    items = []
    for i, item in enumerate(arrays["train"]):
        path = tmp_path / f"{i}.wav"
        soundfile.write(path, item.source, 16000, subtype="FLOAT")
        items.append(base.Clip(path, item.label))
    files = base.Dataset(
        "files",
        "kws",
        {"train": items, "validation": items, "test": items},
        arrays.labels,
    )
    one = KeywordBatches(files, "train", 4, True, seed=1)
    other = KeywordBatches(arrays, "train", 4, True, seed=1)
    assert same(one[1], other[1])


def test_bad_arguments():
    with pytest.raises(base.DataError, match="`batch_size` must be at most 50"):
        KeywordBatches(word_data(), "train", 51, True)
    with pytest.raises(base.DataError, match="`batch_size` must be a positive"):
        KeywordBatches(word_data(), "train", 0)
    with pytest.raises(base.DataError, match="`index` must lie in"):
        KeywordBatches(word_data(), "train", 8).shard(2, 2)


def test_take_spreads_over_the_split():
    data = word_data()
    few = data.take(5)
    assert [data["train"].index(item) for item in few["train"]] == [
        0,
        12,
        24,
        36,
        49,
    ]
    assert len(data.take(100)["test"]) == 7
    assert len(data.take((9, 2, 3))["validation"]) == 2
    with pytest.raises(base.DataError, match="`count` must be one or three"):
        data.take((1, 2))
    assert "5 train, 5 validation, 5 test, 5 labels" in few.summary()
