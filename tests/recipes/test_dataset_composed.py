"""Commands that are composed of single words."""

import collections

import numpy as np
import pytest

from datasets import base
from datasets import composed_commands
from datasets import sources
from datasets import speech_commands
from datasets.batches import IntentBatches
from tests.recipes.fake_data import noise
from tests.recipes.fake_data import tone
from tests.recipes.fake_data import write_words

pytestmark = pytest.mark.any_backend

SIZES = (310, 62, 62)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_words(tmp_path_factory.mktemp("words"))


@pytest.fixture(scope="module")
def data(folder):
    return composed_commands.load(folder, SIZES, progress=False)


def meaning(words):
    """What a sentence means, read word by word: an independent reference."""
    words = [word for word in words if word != "yes"]
    while "no" in words:
        place = words.index("no")
        del words[place - 1 : place + 1]
    actions = {"on", "off", "up", "down", "go", "stop"}
    action = next(word for word in words if word in actions)
    words.remove(action)
    if "bed" in words:
        words.sort(key="bed".__ne__)
    return (action, *words, *["none"] * (2 - len(words)))


def test_31_intents_as_fluent_speech_commands_has():
    labels = composed_commands.LABELS
    assert len(labels) == 31 == len(set(labels))
    assert list(labels) == sorted(labels)
    assert "go / marvin / sheila" in labels and "off / bed / left" in labels


def test_a_sentence_has_one_meaning():
    heard = set()
    for intent in composed_commands.INTENTS:
        plain, corrected = composed_commands.wordings(intent)
        assert len(plain) >= 4 and len(corrected) >= 2
        for words in plain + corrected:
            assert meaning(list(words)) == intent
            assert {*words} <= {*speech_commands.WORDS_V1}
            assert words not in heard
            heard.add(words)


def test_a_bag_of_words_is_not_enough():
    bags = collections.defaultdict(set)
    for intent in composed_commands.INTENTS:
        for words in sum(composed_commands.wordings(intent), start=[]):
            bags[tuple(sorted(words))].add(intent)
    ambiguous = set().union(*(b for b in bags.values() if len(b) > 1))
    # What has to be told apart by order alone in some of its wordings.
    assert len(ambiguous) >= 20
    assert bags["go", "marvin", "sheila"] == {
        ("go", "marvin", "sheila"),
        ("go", "sheila", "marvin"),
    }


def test_splits_are_balanced_and_share_no_speaker(data):
    assert data.task == "slu" and data.labels == composed_commands.LABELS
    speakers = [{item.speaker for item in data[s]} for s in base.SPLITS]
    assert speakers == [
        {"00000000", "00000001", "00000002"},
        {"00000003"},
        {"00000004"},
    ]
    for split, size in zip(base.SPLITS, SIZES):
        counts = collections.Counter(item.label for item in data[split])
        assert set(counts.values()) == {size // 31} and len(counts) == 31
        corrected = np.mean(["no" in item.text for item in data[split]])
        assert 0.1 < corrected < 0.4


def test_a_speaker_says_only_what_was_recorded(data):
    for item in data["train"]:
        assert item.speaker != "00000000" or "go" not in item.text
        assert (
            meaning(list(item.text)) == composed_commands.INTENTS[item.label[0]]
        )


def test_words_gaps_and_noise(data):
    for item in data["test"][:10]:
        audio, start = item.source, 0
        assert audio.dtype == "float32" and len(audio) == item.length
        assert abs(audio).max() <= 1
        speech = np.zeros(len(audio))
        for gap, word, gain, text in zip(
            item.gaps, item.words, item.gains, item.text
        ):
            assert gap + 1 >= 0.05 * 16000 and gap <= 0.4 * 16000
            start += gap
            # The tone lasts 300 ms; 30 ms on either side and a frame's rest.
            assert 4800 <= len(word) <= 4800 + 2 * 640
            fades = np.minimum(np.arange(len(word)) / 159, 1)
            fades = fades * fades[::-1]
            speech[start : start + len(word)] = fades * gain * word / 32768
            spectrum = abs(np.fft.rfft(word, 16000))
            index = speech_commands.WORDS_V1.index(text)
            expected = 200 + 50 * index + 5 * int(item.speaker)
            assert abs(spectrum.argmax() - expected) <= 2
            start += len(word)
        rest = audio - speech
        ratio = 10 * np.log10(np.sum(speech**2) / np.sum(rest**2))
        assert ratio == pytest.approx(item.snr_db, abs=0.01)


def test_only_training_hears_its_noises(data):
    heard = [{id(item.noise) for item in data[s]} for s in base.SPLITS]
    assert len(heard[0]) == 2 and not heard[0] & (heard[1] | heard[2])
    assert heard[0] == {id(noise) for noise in data.noises}


def test_the_seed_decides(folder, data):
    again = composed_commands.load(folder, SIZES, progress=False)
    other = composed_commands.load(folder, SIZES, seed=1, progress=False)
    for split in base.SPLITS:
        for index in (0, 7, 61):
            one = data[split][index]
            np.testing.assert_array_equal(
                one.source, again[split][index].source
            )
        texts = [item.text for item in data[split]]
        assert texts != [item.text for item in other[split]]
    # More commands do not change those that are there.
    more = composed_commands.load(folder, (341, 93, 93), progress=False)
    np.testing.assert_array_equal(
        more["train"][300].source, data["train"][300].source
    )


def test_batches_go_on_where_they_were(data):
    one = IntentBatches(data, "train", 31, True, seed=3)
    other = IntentBatches(data, "train", 31, True, seed=3)
    late = len(one) + 4
    for step in range(late):
        one[step]
    (audio, targets), (same, _) = one[late], other[late]
    np.testing.assert_array_equal(audio, same)
    items = [data["train"][i] for i in one.indices(1)[4]]
    assert targets["sample_lengths"].tolist() == [i.length for i in items]
    assert targets["labels"][:, 0].tolist() == [i.label[0] for i in items]


@pytest.mark.parametrize("level", [1.0, 0.01])
def test_trim_finds_the_word(level):
    audio = 1e-3 * np.random.default_rng(0).standard_normal(16000)
    audio[6000:10000] += tone(4000, 0.3)
    audio[1000:1040] = 0.4  # a click
    audio = (level * audio).astype("float32")
    part = composed_commands.trim(audio)
    assert 4000 <= len(part) <= 4000 + 2 * 640
    start = (part.ctypes.data - audio.ctypes.data) // audio.itemsize
    assert 6000 - 640 <= start <= 6000
    assert start + len(part) >= 10000


def test_trim_finds_no_word():
    assert len(composed_commands.trim(np.zeros(100, "int16"))) == 0
    click = 1e-4 * noise(16000).astype("float32")
    click[5000:5400] = 0.5
    assert len(composed_commands.trim(click)) == 0


def test_a_folder_of_speech_commands_is_recognized(folder, tmp_path):
    data = sources.load(
        "slu", folder, (31, 31, 31), cache_dir=tmp_path, progress=False
    )
    assert data.name == "composed commands, 31 intents"
    assert [len(data[s]) for s in base.SPLITS] == [31, 31, 31]


def test_bad_settings(folder, tmp_path):
    with pytest.raises(base.DataError, match="`sizes` must be three"):
        composed_commands.load(folder, (1, 2))
    with pytest.raises(base.DataError, match="`seed` must be an integer"):
        composed_commands.load(folder, seed=-1)
    with pytest.raises(base.DataError, match="`folder` must be the folder of"):
        composed_commands.load(tmp_path / "nowhere")


def test_nobody_can_say_it(tmp_path):
    folder = write_words(tmp_path / "words")
    (folder / "stop" / "00000004_nohash_0.wav").unlink()
    path = folder / "testing_list.txt"
    lines = path.read_text().split()
    path.write_text("\n".join(n for n in lines if not n.startswith("stop")))
    with pytest.raises(base.DataError, match="No speaker of the 'test' split"):
        composed_commands.load(folder, SIZES, progress=False)
