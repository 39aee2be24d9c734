"""Words of Speech Commands as further clean speech for the enhancer."""

import numpy as np
import pytest

from datasets import base
from datasets import other_voices
from datasets import sources
from datasets.enhancement_batches import EnhancementBatches
from tests.recipes.fake_data import noise
from tests.recipes.fake_data import tone
from tests.recipes.fake_data import write_words

pytestmark = pytest.mark.any_backend


@pytest.fixture
def data(tmp_path):
    folder = write_words(tmp_path / "words")
    pairs = [
        base.Pair(f"p{i}", tone(9000, 0.3) + noise(9000, i), tone(9000, 0.3))
        for i in range(4)
    ]
    data = base.Dataset(
        "pairs",
        "se",
        {"train": pairs, "validation": pairs[:1], "test": pairs[:1]},
    )
    return other_voices.add(data, folder, progress=False)


def test_words_of_training_speakers_are_joined(data):
    added = data["train"][4:]
    assert {item.speaker for item in added} == {f"{i:08x}" for i in (0, 1, 2)}
    each = other_voices.MOST_PER_SPEAKER
    assert len(added) == 3 * each
    assert len(data["validation"]) == len(data["test"]) == 1
    for item in added:
        assert item.clean.shape == (3 * 16000,)
        level = 10 * np.log10(np.mean(item.clean**2))
        assert level == pytest.approx(other_voices.LEVEL_DB, abs=0.5)
        assert abs(np.diff(item.clean)).max() < 0.5
        assert item.clean[0] == item.clean[16000] == 0
    words = [id(word) for item in added for word in item.words]
    assert len(set(words)) == len(words)


def test_noise_is_that_of_pairs_and_of_the_folder(data):
    assert len(data.noises) == 2 and data.snrs_db
    batches = EnhancementBatches(
        data, "train", 4, True, 1, 8000, made_noise=0, noise_variety=0
    )
    for index in range(4, len(data["train"])):
        noisy, clean = batches.utterance(index)
        assert len(noisy) == len(clean) == 48000
        ratio = np.sum(clean**2) / np.sum((noisy - clean) ** 2)
        assert round(10 * np.log10(ratio), 2) in data.snrs_db
    noisy, clean = batches[0]
    assert noisy.shape == (4, 8000) and np.isfinite(noisy).all()


def test_noisy_words_are_left_out():
    loud = np.zeros(16000)
    loud[4800:9600] = tone(4800, 0.2)
    hiss = np.random.default_rng(0).standard_normal(16000)
    clips = [
        base.Clip((loud + level * hiss).astype("float32"), 0, speaker)
        for speaker, level in (("quiet", 1e-4), ("noisy", 1e-2))
        for _ in range(7)
    ]
    found = other_voices.utterances(clips)
    assert [item.speaker for item in found] == ["quiet", "quiet"]
    assert other_voices.dynamic_range(clips[0].source) == pytest.approx(
        63, abs=3
    )
    assert other_voices.dynamic_range(np.zeros(100, "int16")) == 0


def test_errors(tmp_path):
    with pytest.raises(base.DataError, match="`other_speech`.*not exist"):
        sources.load(
            "se",
            sizes=(1, 1, 1),
            cache_dir=tmp_path,
            progress=False,
            other_speech=tmp_path / "none",
        )
    with pytest.raises(base.DataError, match='`task` is "se"'):
        sources.load("slu", other_speech=tmp_path)
