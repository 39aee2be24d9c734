"""Ten commands, unknown words and silence."""

import collections
import dataclasses

import numpy as np
import pytest
import soundfile

from datasets import base
from datasets import commands12
from datasets import sources
from datasets import speech_commands
from datasets.batches import KeywordBatches
from tests.recipes.fake_data import write_words

pytestmark = pytest.mark.any_backend


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_words(tmp_path_factory.mktemp("words"))


def load(folder, tmp_path_factory, **options):
    return sources.load(
        "kws",
        folder,
        cache_dir=tmp_path_factory.getbasetemp() / "cache",
        progress=False,
        words="commands12",
        **options,
    )


@pytest.fixture(scope="module")
def data(folder, tmp_path_factory):
    return load(folder, tmp_path_factory)


def test_classes_and_their_order(data):
    assert " ".join(data.labels) == (
        "silence unknown yes no up down left right on off stop go"
    )
    for split in base.SPLITS:
        for item in data[split]:
            if item.label < 2:
                continue
            word = commands12.COMMANDS[item.label - 2]
            # Each word of the fake data is a tone of its own.
            index = speech_commands.WORDS_V1.index(word)
            expected = 200 + 50 * index + 5 * int(item.speaker)
            spectrum = abs(np.fft.rfft(item.source[4800:9600], 16000))
            assert abs(spectrum.argmax() - expected) <= 2


def test_a_tenth_is_unknown_and_a_tenth_silence(data):
    for split in ("validation", "test"):
        counts = collections.Counter(item.label for item in data[split])
        assert counts == {**dict.fromkeys(range(2, 12), 1), 0: 1, 1: 1}
    assert data.per_epoch == {0: 3, 1: 3}  # of 29: one speaker says no "go"
    counts = collections.Counter(item.label for item in data["train"])
    assert counts[0] == 30 and counts[1] == 60  # to choose from
    assert "an epoch draws 3 silence and 3 unknown" in data.summary()


def test_every_epoch_draws_its_own(data):
    batches = KeywordBatches(data, "train", 5, True, seed=1)
    assert len(batches) == 35 // 5
    seen = []
    for epoch in range(20):
        used = np.concatenate(batches.indices(epoch))
        assert len(used) == len(set(used)) == 35
        labels = [data["train"][i].label for i in used]
        counts = collections.Counter(labels)
        assert counts[0] == counts[1] == 3 and sum(counts.values()) == 35
        seen.append({i for i in used if data["train"][i].label == 1})
    assert len(set().union(*seen)) > 30
    other = KeywordBatches(data, "train", 5, True, seed=1)
    late = 13 * len(batches) + 2
    for one, two in zip(batches[late], other[late]):
        np.testing.assert_array_equal(one, two)


def test_validation_is_the_same_in_every_epoch(data):
    batches = KeywordBatches(data, "validation", 4)
    assert sum(len(batches[s][1]) for s in range(len(batches))) == 12
    for one, two in zip(batches[0], batches[len(batches)]):
        np.testing.assert_array_equal(one, two)


def test_silence_is_noise_of_any_level_and_zero():
    rng = np.random.default_rng(0)
    noise = 0.1 * rng.standard_normal(30000).astype("float32")
    items = commands12._silence(rng, [noise], 1000)
    assert {item.label for item in items} == {0}
    levels = np.array([item.source.std() for item in items]) / 0.1
    assert all(item.source.shape == (16000,) for item in items)
    assert 0.05 < np.mean(levels == 0) < 0.15
    assert 0.2 < np.mean((levels > 0) & (levels < 0.1)) < 0.45
    assert levels.max() <= 1.1 and np.mean(levels > 0.5) > 0.2


def test_only_validation_and_test_hear_held_out_noise():
    held_out = np.ones(16000, "float32")
    selected = commands12.select(many_words(), [held_out])
    for split in base.SPLITS:
        silence = [item for item in selected[split] if item.label == 0]
        heard = any(item.recording is held_out for item in silence)
        assert heard == (split != "train")


def many_words():
    """So many commands that silence is made of every noise."""
    clips = [base.Clip(np.zeros(16000, "float32"), i % 11) for i in range(2200)]
    return base.Dataset(
        "many, 11 words",
        "kws",
        dict.fromkeys(base.SPLITS, clips),
        (*commands12.COMMANDS, "marvin"),
        noises=(np.zeros(20000, "float32"),),
    )


def test_the_seed_decides(folder, tmp_path_factory, data):
    again = load(folder, tmp_path_factory)
    for split in base.SPLITS:
        for one, two in zip(data[split], again[split]):
            assert one.label == two.label
            np.testing.assert_array_equal(one.source, two.source)
    many = many_words()
    chosen = [
        [item.offset for item in commands12.select(many, seed=seed)["test"][:9]]
        for seed in (0, 0, 1)
    ]
    assert chosen[0] == chosen[1] != chosen[2]


def test_fewer_items_keep_the_shares():
    few = commands12.select(many_words()).take((480, 120, 120))
    batches = KeywordBatches(few, "train", 1, True)
    labels = [few["train"][i].label for i in np.concatenate(batches.indices(0))]
    counts = collections.Counter(labels)
    commands = sum(count for label, count in counts.items() if label > 1)
    assert commands > 200
    assert counts[0] == pytest.approx(0.1 * commands, abs=2)
    assert counts[1] == pytest.approx(0.1 * commands, abs=2)


def test_real_words(speech_data, tmp_path):
    data = sources.load(
        "kws",
        speech_data / "kws",
        cache_dir=tmp_path,
        progress=False,
        words="commands12",
    )
    for split in base.SPLITS:
        counts = collections.Counter(item.label for item in data[split])
        commands = sum(count for label, count in counts.items() if label > 1)
        if split == "train":
            counts.update({k: n - counts[k] for k, n in data.per_epoch.items()})
        assert counts[0] == counts[1] == -(-commands // 10)


def test_bad_settings(folder):
    with pytest.raises(base.DataError, match="`words` must be one of"):
        sources.load("kws", folder, words="few")
    many = many_words()
    with pytest.raises(base.DataError, match="lacks: go"):
        labels = (*commands12.COMMANDS[:-1], "marvin", "sheila")
        commands12.select(dataclasses.replace(many, labels=labels))
    with pytest.raises(base.DataError, match="background noise"):
        commands12.select(dataclasses.replace(many, noises=()))


def test_seconds_of_other_speech_are_unknown_in_training(
    data, folder, tmp_path_factory
):
    speech = tmp_path_factory.mktemp("speech")
    for name, value in (("a/s.wav", 0.25), ("b/s.wav", 0.5)):
        (speech / name).parent.mkdir()
        soundfile.write(speech / name, np.tile([value, -value], 20000), 16000)
    more = load(folder, tmp_path_factory, other_speech=speech)
    for split in ("validation", "test"):
        assert len(more[split]) == len(data[split])
    added = [i for i in more["train"] if getattr(i, "volume", 0) == 1]
    levels = [float(max(item.source)) for item in added]
    assert levels == [0.25, 0.25, 0.5, 0.5]  # two whole seconds of each
    assert {item.label for item in added} == {1}
    assert more.per_epoch == {0: 3, 1: 3 + 15}  # half of 29
    shift = commands12.shift_of_unknown(more)
    np.testing.assert_allclose(shift, [0, np.log(6), *[0] * 10], rtol=1e-6)
    assert not commands12.shift_of_unknown(data).any()
    for folder, match in (
        (speech / "c", "`other_speech`.*does not exist"),
        (speech, "`other_speech`.*holds none"),
    ):
        for path in speech.rglob("*.wav"):
            path.unlink()
        with pytest.raises(base.DataError, match=match):
            sources.load("kws", words="commands12", other_speech=folder)
    with pytest.raises(base.DataError, match="`other_speech` must be left out"):
        sources.load("kws", other_speech=speech)


def test_training_clips_follow_on_something_else(data):
    options = {"max_shift": 0, "noise_probability": 0, "context": 5000}
    batches = KeywordBatches(data, "train", 4, True, **options)
    steps = 4 * len(batches)
    lengths, followed = [], []
    for step in range(steps):
        audio, _ = batches[step]
        lengths.append(audio.shape[1])
        epoch, step = divmod(step, len(batches))
        for row, index in zip(audio, batches.indices(epoch)[step]):
            alone = batches.samples(data["train"][index].source)
            heard = row[-16000:]
            start = (16000 - len(alone)) // 2
            np.testing.assert_array_equal(
                heard[max(start, 0) :][: len(alone)],
                alone[max(-start, 0) :][:16000],
            )
            if len(row) > 16000:
                followed.append(row[:5000].any())
    assert set(lengths) == {16000, 21000}
    assert 0.2 < lengths.count(21000) / steps < 0.8
    # Silence is a part of the others.
    assert 0.4 < np.mean(followed) < 0.95
    plain = KeywordBatches(data, "test", 12, **options)
    assert plain[0][0].shape[1] == 16000  # as long as ever
