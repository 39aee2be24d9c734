"""The layouts of the public data sets, whole and broken."""

import csv

import numpy as np
import pytest

from datasets import base
from datasets import decoding
from datasets import fluent_commands
from datasets import mixing
from datasets import sources
from datasets import speech_commands
from datasets import voicebank_demand
from datasets.enhancement_batches import EnhancementBatches

pytestmark = pytest.mark.any_backend


def touch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    return path


@pytest.fixture
def words(tmp_path):
    """A folder like version 0.02 of Speech Commands; the files are empty."""
    for word in speech_commands.WORDS:
        for i in range(4):
            touch(tmp_path / word / f"{i:08x}_nohash_0.wav")
    for name, i in (("validation_list.txt", 1), ("testing_list.txt", 2)):
        lines = [f"{w}/{i:08x}_nohash_0.wav" for w in speech_commands.WORDS]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    touch(tmp_path / "_background_noise_" / "pink.wav")
    return tmp_path


def test_speech_commands_follow_the_lists(words):
    data = speech_commands.load(words)
    assert data.labels == speech_commands.WORDS
    assert len(data.labels) == 35 == len(set(data.labels))
    assert list(data.labels) == sorted(data.labels)
    assert [len(data[s]) for s in base.SPLITS] == [70, 35, 35]
    for split, speakers in (
        ("train", {"00000000", "00000003"}),
        ("validation", {"00000001"}),
        ("test", {"00000002"}),
    ):
        assert {item.speaker for item in data[split]} == speakers
        for item in data[split]:
            assert data.labels[item.label] == item.source.parent.name
    assert [path.name for path in data.noises] == ["pink.wav"]


def test_version_one_has_thirty_words(words):
    import shutil

    for word in speech_commands.NEW_IN_V2:
        shutil.rmtree(words / word)
    data = speech_commands.load(words)
    assert len(data.labels) == 30
    some = speech_commands.load(words, words=("yes", "no"))
    assert some.labels == ("yes", "no")
    assert [len(some[s]) for s in base.SPLITS] == [4, 2, 2]


def test_flac_copies_match_lists_of_wav(words):
    for path in list(words.rglob("*_nohash_*.wav")):
        path.rename(path.with_suffix(".flac"))
    assert len(speech_commands.load(words)["test"]) == 35


def test_broken_speech_commands(words, tmp_path):
    with pytest.raises(base.DataError, match="does not exist.*download"):
        speech_commands.load(words / "nowhere")
    with pytest.raises(base.DataError, match="which is a file"):
        speech_commands.load(words / "testing_list.txt")
    with pytest.raises(base.DataError, match="1 of 2 words: maybe"):
        speech_commands.load(words, words=("yes", "maybe"))
    for path in list((words / "yes").iterdir()):
        path.unlink()
    with pytest.raises(base.DataError, match="no recording in .*yes"):
        speech_commands.load(words)
    (words / "testing_list.txt").unlink()
    with pytest.raises(base.DataError, match="lacks testing_list.txt"):
        speech_commands.load(words)


def test_lists_must_fit_the_folder(words):
    path = words / "testing_list.txt"
    path.write_text(path.read_text() + "yes/feedbeef_nohash_0.wav\n")
    with pytest.raises(base.DataError, match="1 of 71 recordings.*feedbeef"):
        speech_commands.load(words)
    path.write_text("yes/00000001_nohash_0.wav\n")
    with pytest.raises(base.DataError, match="must not overlap"):
        speech_commands.load(words)
    path.write_text("whatever\n")
    with pytest.raises(base.DataError, match="`word/file.wav`"):
        speech_commands.load(words)


def test_without_background_noise(words):
    (words / "_background_noise_" / "pink.wav").unlink()
    with pytest.warns(UserWarning, match="without background noise"):
        assert speech_commands.load(words).noises == ()


COLUMNS = ["path", "speakerId", "transcription", *fluent_commands.SLOTS]


def write_commands(folder, rows, columns=COLUMNS):
    (folder / "data").mkdir(exist_ok=True)
    for i, name in enumerate(fluent_commands.FILES.values()):
        with open(folder / name, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["", *columns])
            for j, row in enumerate(rows):
                path = touch(folder / "wavs" / "speakers" / f"{i}{j}.wav")
                path = path.relative_to(folder)
                writer.writerow([j, path, f"s{i}", "text, with comma", *row])


def test_fluent_commands(tmp_path):
    rows = [
        ("increase", "heat", "none"),
        ("activate", "lights", "kitchen"),
        ("activate", "lights", "none"),
        ("increase", "heat", "none"),
    ]
    write_commands(tmp_path, rows)
    data = fluent_commands.load(tmp_path)
    assert data.labels == (
        "activate / lights / kitchen",
        "activate / lights / none",
        "increase / heat / none",
    )
    for split, speaker in zip(base.SPLITS, ("s0", "s1", "s2")):
        assert [item.label for item in data[split]] == [(2,), (0,), (1,), (2,)]
        assert all(item.source.is_file() for item in data[split])
        assert {item.speaker for item in data[split]} == {speaker}


def test_broken_fluent_commands(tmp_path):
    with pytest.raises(base.DataError, match="has to be asked for.*fluent.ai"):
        fluent_commands.load(tmp_path / "nowhere")
    with pytest.raises(base.DataError, match="lacks data/train_data.csv"):
        fluent_commands.load(tmp_path)
    write_commands(tmp_path, [("a", "b", "")])
    with pytest.raises(base.DataError, match="line 2.*must not be empty"):
        fluent_commands.load(tmp_path)
    write_commands(tmp_path, [("a", "b", "c")], COLUMNS[:-1] + ["place"])
    with pytest.raises(base.DataError, match="It lacks: location"):
        fluent_commands.load(tmp_path)
    write_commands(tmp_path, [("a", "b", "c")])
    text = (tmp_path / "data/test_data.csv").read_text()
    (tmp_path / "data/test_data.csv").write_text(text.replace("a,b", "new,b"))
    with pytest.warns(UserWarning, match="1 intents have no training"):
        fluent_commands.load(tmp_path)


@pytest.fixture
def voicebank(tmp_path, write_tone):
    for split, speakers in (
        ("trainset_28spk", ("p226", "p287", "p300", "p301")),
        ("testset", ("p232",)),
    ):
        for speaker in speakers:
            for kind, level in (("clean", 0.2), ("noisy", 0.3)):
                write_tone(
                    tmp_path / f"{kind}_{split}_wav" / f"{speaker}_001.wav",
                    rate=48000,
                    seconds=0.2,
                    level=level,
                )
    return tmp_path


def test_voicebank_is_paired_and_split_by_speaker(voicebank):
    data = voicebank_demand.load(voicebank)
    speakers = [{item.speaker for item in data[s]} for s in base.SPLITS]
    assert speakers == [{"p300", "p301"}, {"p226", "p287"}, {"p232"}]
    data = decoding.decode(data, progress=False)
    noisy, clean = EnhancementBatches(data, "test", 1)[0]
    assert noisy.shape == clean.shape == (1, 3200)
    np.testing.assert_allclose(
        noisy[0, 500:-500], 1.5 * clean[0, 500:-500], atol=1e-3
    )


def test_broken_voicebank(voicebank):
    with pytest.raises(base.DataError, match="datashare.ed.ac.uk"):
        voicebank_demand.load(voicebank / "nowhere")
    with pytest.raises(base.DataError, match="`validation_speakers` must be"):
        voicebank_demand.load(voicebank, validation_speakers=("p999",))
    (voicebank / "clean_testset_wav" / "p232_001.wav").unlink()
    with pytest.raises(base.DataError, match="no counterpart.*p232_001"):
        voicebank_demand.load(voicebank)
    (voicebank / "clean_testset_wav").rmdir()
    with pytest.raises(base.DataError, match="lacks clean_testset_wav"):
        voicebank_demand.load(voicebank)


def test_mixing_of_any_folders(tmp_path):
    for speaker in range(10):
        for i in range(3):
            touch(tmp_path / "speech" / f"s{speaker}" / f"{i}.wav")
    for i in range(8):
        touch(tmp_path / "noise" / f"{i}.flac")

    def load(seed):
        return mixing.from_folders(
            tmp_path / "speech", tmp_path / "noise", (0, 5), seed=seed
        )

    data = load(1)
    speakers = [{item.speaker for item in data[s]} for s in base.SPLITS]
    assert [len(names) for names in speakers] == [8, 1, 1]
    assert len(set.union(*speakers)) == 10
    heard = set(data.noises)
    assert not heard & {item.noise for item in data["test"]}
    assert {item.noise for item in data["validation"]} <= heard
    assert {item.snr_db for item in data["test"]} <= {0.0, 5.0}
    assert all(item.noise is None for item in data["train"])
    same, other = load(1), load(2)
    assert [vars(i) for i in data["test"]] == [vars(i) for i in same["test"]]
    assert [vars(i) for i in data["test"]] != [vars(i) for i in other["test"]]


def test_broken_mixtures(tmp_path):
    with pytest.raises(base.DataError, match="clean/train, noise/train"):
        mixing.load(tmp_path)
    clean = touch(tmp_path / "clean" / "a_1.wav").parent
    noise = touch(tmp_path / "noise" / "a.wav").parent
    with pytest.raises(base.DataError, match="at least 3 speakers"):
        mixing.from_folders(clean, noise)
    (tmp_path / "empty").mkdir()
    with pytest.raises(base.DataError, match="no clean speech"):
        mixing.from_folders(tmp_path / "empty", noise)
    for name in "bc":
        touch(clean / f"{name}-1.wav")
    with pytest.raises(base.DataError, match="at least 2 files"):
        mixing.from_folders(clean, noise)
    touch(noise / "b.wav")
    with pytest.raises(base.DataError, match="`snrs_db` must be"):
        mixing.from_folders(clean, noise, ())
    table = tmp_path / "mix.csv"
    table.write_text("id,clean,noise,snr_db\n")
    with pytest.raises(base.DataError, match="lacks: noise_offset_samples"):
        mixing.read_mixtures(table)
    table.write_text(",".join(mixing.COLUMNS) + "\n1,x.wav,y.wav,0,0\n")
    with pytest.raises(base.DataError, match="line 2: there is no file"):
        mixing.read_mixtures(table)
    table.write_text(
        ",".join(mixing.COLUMNS) + "\n1,clean/a_1.wav,noise/a.wav,0,loud\n"
    )
    with pytest.raises(base.DataError, match="`snr_db` a number.*'loud'"):
        mixing.read_mixtures(table)


def test_real_keywords(speech_data):
    data = speech_commands.load(speech_data / "kws")
    assert [len(data[s]) for s in base.SPLITS] == [4620, 580, 870]
    assert len(data.labels) == 30
    assert len(data.noises) == 4
    held_out = speech_commands.held_out_paths(speech_data / "kws")
    assert len(held_out) == 2 and not {*held_out} & {*data.noises}
    speakers = [{item.speaker for item in data[s]} for s in base.SPLITS]
    assert not speakers[0] & speakers[1] | speakers[0] & speakers[2]
    few = decoding.decode(data.take(60), progress=False)
    assert few.bad == ()


def test_real_commands(speech_data):
    data = fluent_commands.load(speech_data / "slu")
    assert [len(data[s]) for s in base.SPLITS] == [453, 61, 105]
    assert len(data.labels) == 10
    assert decoding.decode(data.take(20), progress=False).bad == ()


def test_real_mixtures(speech_data):
    data = mixing.load(speech_data / "se")
    assert [len(data[s]) for s in base.SPLITS][1:] == [120, 160]
    few = data.take(4)
    batches = EnhancementBatches(decoding.decode(few, progress=False), "test")
    for index, item in enumerate(few["test"]):
        noisy, clean = batches.utterance(index)
        ratio = np.sum(clean**2) / np.sum((noisy - clean) ** 2)
        assert 10 * np.log10(ratio) == pytest.approx(item.snr_db, abs=0.01)


def test_a_folder_is_recognized(speech_data, voicebank, tmp_path):
    for task, folder, name in (
        ("kws", speech_data / "kws", "Speech Commands, 30 words"),
        ("slu", speech_data / "slu", "slu, 10 intents"),
        ("se", speech_data / "se", "mixtures of se"),
        ("se", voicebank, "VoiceBank+DEMAND"),
    ):
        data = sources.load(
            task,
            folder,
            sizes=(9, 3, 1),
            cache_dir=tmp_path / "cache",
            progress=False,
        )
        assert data.name == name
        assert len(data["validation"]) <= 3
        assert all(isinstance(s, np.ndarray) for s in data["test"][0].sources)
    with pytest.raises(base.DataError, match="`task` must be"):
        sources.load("asr", voicebank)
