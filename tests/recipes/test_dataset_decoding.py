"""Bad files are named, counted and left out, or stop everything."""

import os
import sys
import types
import warnings

import numpy as np
import pytest
import soundfile

from datasets import audio_io
from datasets import base
from datasets import decoding
from keras_duspar.utils.audio_files import AudioFileError

pytestmark = pytest.mark.any_backend


def truncated_wav(path, write_tone):
    write_tone(path)
    path.write_bytes(path.read_bytes()[:20000])


def header_only_wav(path, write_tone):
    write_tone(path)
    path.write_bytes(path.read_bytes()[:36])


def truncated_flac(path, write_tone):
    write_tone(path)
    path.write_bytes(path.read_bytes()[:2000])


def empty(path, write_tone):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")


def no_samples(path, write_tone):
    write_tone(path, seconds=0)


def silent(path, write_tone):
    write_tone(path, level=0)


def almost_silent(path, write_tone):
    write_tone(path, level=1e-5)


def wrong_rate(path, write_tone):
    write_tone(path, rate=44100)


def no_audio(path, write_tone):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("This is not the audio that you are looking for.\n" * 50)


def missing(path, write_tone):
    pass


BAD = [
    (truncated_wav, "b.wav", "truncated: 19956 of 32000 bytes"),
    (header_only_wav, "b.wav", "truncated"),
    (truncated_flac, "b.flac", "truncated|damaged"),
    (empty, "b.wav", "is empty"),
    (no_samples, "b.wav", "no samples"),
    (silent, "b.wav", "silent"),
    (almost_silent, "b.wav", "silent"),
    (wrong_rate, "b.wav", "44100 Hz instead of 16000 Hz"),
    (no_audio, "b.wav", "not an audio file"),
    (no_audio, "b.flac", "not an audio file"),
    (missing, "b.wav", "does not exist"),
]


def dataset(train, other, **options):
    return base.Dataset(
        name="tones",
        task="kws",
        splits={
            "train": [base.Clip(path, 0) for path in train],
            "validation": [base.Clip(other, 0)],
            "test": [base.Clip(other, 0)],
        },
        labels=("tone",),
        rates=(16000,),
        **options,
    )


@pytest.mark.parametrize("spoil, name, reason", BAD)
def test_a_bad_file_is_refused_with_its_reason(
    tmp_path, write_tone, spoil, name, reason
):
    spoil(tmp_path / name, write_tone)
    with pytest.raises(AudioFileError, match=reason):
        audio_io.read_audio(tmp_path / name, rates=(16000,))


@pytest.mark.parametrize("cache", ["memory", "disk", None])
def test_few_bad_files_are_named_and_left_out(tmp_path, write_tone, cache):
    good = [
        write_tone(tmp_path / "in" / f"{i}.wav", seconds=0.05)
        for i in range(120)
    ]
    bad = tmp_path / "in" / "bad.wav"
    truncated_wav(bad, write_tone)
    data = dataset([*good[1:60], bad, *good[60:]], good[0])
    for _ in range(2):  # the second time from the cache, if there is one
        with pytest.warns(UserWarning) as caught:
            decoded = decoding.decode(
                data, cache, tmp_path / "cache", progress=False
            )
        message = str(caught[0].message)
        assert "1 of 121 files (0.8 %) are bad" in message
        assert f"{bad} is truncated" in message
        assert len(decoded["train"]) == 119
        assert len(decoded.bad) == 1
        expected = 0.3 * np.sin(2 * np.pi * 440 * np.arange(800) / 16000)
        for item in decoded["train"][::40]:
            audio = audio_io.samples_of(item.source)
            np.testing.assert_allclose(audio, expected, atol=1e-4)
            assert isinstance(item.source, np.ndarray) == bool(cache)


def test_more_than_one_percent_of_bad_files_stops(tmp_path, write_tone):
    good = [write_tone(tmp_path / f"{i}.wav", seconds=0.02) for i in range(98)]
    bad = [tmp_path / "x.wav", tmp_path / "y.wav"]
    for path in bad:
        path.write_bytes(b"")
    with pytest.raises(base.DataError, match="2 of 100 files.*more than 1 %"):
        decoding.decode(dataset(good + bad, good[0]), progress=False)
    with pytest.warns(UserWarning, match="2 of 100"):
        decoding.decode(
            dataset(good + bad, good[0]), max_bad=0.02, progress=False
        )


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_samples_stop_at_once(tmp_path, write_tone, value):
    good = [write_tone(tmp_path / f"{i}.wav", seconds=0.02) for i in range(300)]
    audio = np.full(1000, 0.1, "float32")
    audio[500] = value
    soundfile.write(tmp_path / "nan.wav", audio, 16000, subtype="FLOAT")
    data = dataset([*good, tmp_path / "nan.wav"], good[0])
    with pytest.raises(base.DataError, match="nan.wav holds .* NaN"):
        decoding.decode(data, progress=False)


def test_both_of_a_pair_go_when_one_is_bad(tmp_path, write_tone):
    good = write_tone(tmp_path / "good.wav")
    bad = tmp_path / "bad.wav"
    empty(bad, write_tone)
    pair = base.Pair("a", good, good)
    data = base.Dataset(
        "pairs",
        "se",
        {
            "train": [pair, base.Pair("b", good, bad)],
            "validation": [pair],
            "test": [pair],
        },
    )
    with pytest.warns(UserWarning, match="bad.wav"):
        decoded = decoding.decode(data, max_bad=0.5, progress=False)
    assert [item.id for item in decoded["train"]] == ["a"]


def test_a_split_must_not_become_empty(tmp_path, write_tone):
    good = write_tone(tmp_path / "good.wav")
    empty(tmp_path / "bad.wav", write_tone)
    data = dataset([tmp_path / "bad.wav"], good)
    with (
        pytest.raises(base.DataError, match="no usable item in its 'train'"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        decoding.decode(data, max_bad=1, progress=False)


@pytest.mark.parametrize("rate", [8000, 22050, 44100, 48000])
def test_other_rates_are_converted_without_aliases(tmp_path, rate):
    time = np.arange(rate) / rate
    audio = 0.5 * np.sin(2 * np.pi * 1000 * time)
    if rate > 22050:
        audio = audio + 0.4 * np.sin(2 * np.pi * 11000 * time)
    soundfile.write(tmp_path / "a.wav", audio, rate, subtype="FLOAT")
    read = audio_io.read_audio(tmp_path / "a.wav")
    assert len(read) == 16000
    expected = 0.5 * np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000)
    middle = slice(1000, -1000)
    np.testing.assert_allclose(read[middle], expected[middle], atol=2e-3)


def test_stereo_becomes_mono(tmp_path):
    left = np.sin(np.arange(1000) / 9)
    stereo = np.stack([0.5 * left, 0.1 * left], axis=1)
    soundfile.write(tmp_path / "a.wav", stereo, 16000, subtype="FLOAT")
    audio = audio_io.read_audio(tmp_path / "a.wav")
    np.testing.assert_allclose(audio, 0.3 * left, atol=1e-6)


def test_a_changed_file_is_decoded_again(tmp_path, write_tone):
    path = write_tone(tmp_path / "a.wav", seconds=0.1)
    other = write_tone(tmp_path / "b.wav", seconds=0.1)
    data = dataset([path], other)
    decoding.decode(data, "disk", tmp_path / "cache", progress=False)
    write_tone(path, seconds=0.2)
    again = decoding.decode(data, "disk", tmp_path / "cache", progress=False)
    assert len(again["train"][0].source) == 3200
    assert len(list((tmp_path / "cache").iterdir())) == 2  # nothing partial


def test_a_failed_cache_leaves_nothing_behind(tmp_path):
    def arrays():
        yield np.zeros(10, "int16")
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        decoding.write_entry(tmp_path / "entry", arrays(), dict)
    assert list(tmp_path.iterdir()) == []


def test_remains_of_a_killed_process_go_after_a_day(tmp_path):
    old, young = tmp_path / ".entry-old", tmp_path / ".entry-young"
    for remains in (old, young):
        remains.mkdir()
        (remains / "audio.raw").write_bytes(b"12")
    os.utime(old, (1, 1))
    decoding.write_entry(tmp_path / "entry", [], dict)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".entry-young",
        "entry",
    ]


def test_a_damaged_cache_is_named(tmp_path):
    entry = tmp_path / "entry"
    decoding.write_entry(entry, [np.arange(10, dtype="int16")], dict)
    np.testing.assert_array_equal(
        decoding.read_entry(entry)[0][0], np.arange(10)
    )
    (entry / "audio.raw").write_bytes(b"abc")
    with pytest.raises(base.DataError, match="entry is damaged.*Remove it"):
        decoding.read_entry(entry)


def test_no_room_for_the_cache(tmp_path):
    with pytest.raises(base.DataError, match="`cache_dir` needs about"):
        decoding.write_entry(tmp_path / "entry", [], dict, needed=10**18)
    (tmp_path / "file").write_text("")
    with pytest.raises(base.DataError, match="`cache_dir` must be a folder"):
        decoding.write_entry(tmp_path / "file" / "entry", [], dict)


def test_arguments_of_decode(tmp_path, write_tone):
    data = dataset([write_tone(tmp_path / "a.wav")], tmp_path / "a.wav")
    with pytest.raises(base.DataError, match="`cache` must be"):
        decoding.decode(data, cache="ram")
    with pytest.raises(base.DataError, match="needs `cache_dir`"):
        decoding.decode(data, cache="disk")
    with pytest.raises(base.DataError, match="`split` must be one of"):
        data["dev"]


def test_too_much_for_memory_is_only_checked(tmp_path, write_tone):
    path = write_tone(tmp_path / "a.wav")
    hiss = write_tone(tmp_path / "hiss.wav", seconds=0.1)
    raw = dataset([path], path, noises=(hiss,))
    data = decoding.decode(raw, memory_limit=10000, progress=False)
    assert not isinstance(data["train"][0].source, np.ndarray)
    assert len(data.noises[0]) == 1600  # used too often to be decoded anew
    data = decoding.decode(raw, memory_limit=100, progress=False)
    assert str(data.noises[0]) == str(hiss)


def test_tensorflow_io_is_used_where_it_is(monkeypatch, tmp_path, write_tone):
    class Tensor:
        def __init__(self, path):
            assert path.endswith("a.wav")

        def to_tensor(self):
            samples = np.array([[0], [16384], [-32768]], "int16")
            return types.SimpleNamespace(numpy=lambda: samples)

    module = types.SimpleNamespace(
        audio=types.SimpleNamespace(AudioIOTensor=Tensor), __spec__=object()
    )
    monkeypatch.setitem(sys.modules, "tensorflow_io", module)
    path = write_tone(tmp_path / "a.wav")
    audio_io.tensorflow_io.cache_clear()
    try:
        audio = audio_io.read_audio(path)
    finally:
        audio_io.tensorflow_io.cache_clear()
    np.testing.assert_array_equal(audio, [0, 0.5, -1])


def test_a_tensorflow_io_that_does_not_load_is_passed_over(monkeypatch):
    def fail(name):
        raise RuntimeError("built for another TensorFlow")

    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr("importlib.import_module", fail)
    audio_io.tensorflow_io.cache_clear()
    try:
        assert audio_io.tensorflow_io() is None
    finally:
        audio_io.tensorflow_io.cache_clear()
