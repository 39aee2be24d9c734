"""Synthetic speech: the same for a seed, different voices in each split."""

import subprocess
import sys

import numpy as np
import pytest

from datasets import acoustics
from datasets import base
from datasets import espeak
from datasets import synthesis
from datasets import synthetic
from datasets import texts

pytestmark = pytest.mark.any_backend

pytest.importorskip("espeakng_loader")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """More than one chunk for some dozens of utterances."""
    monkeypatch.setattr(synthetic, "CHUNK", 30)
    monkeypatch.setattr(
        synthetic, "NOISES", {"train": 6, "validation": 1, "test": 6}
    )


def load(cache, task="kws", sizes=(40, 5, 5), seed=0, workers=2):
    return synthetic.load(
        task, sizes, seed, cache, workers=workers, progress=False
    )


def sounds(data):
    arrays = [
        source
        for split in base.SPLITS
        for item in data[split]
        for source in item.sources
    ]
    return [*arrays, *data.noises]


def test_a_seed_fixes_every_sample_whatever_the_workers(cache, tmp_path):
    one, other = load(cache), load(tmp_path, workers=1)
    for a, b in zip(sounds(one), sounds(other)):
        np.testing.assert_array_equal(a, b)
    changed = load(cache, sizes=(2, 1, 1), seed=1)
    assert not np.array_equal(sounds(one)[0], sounds(changed)[0])


def test_words_last_a_second_and_are_heard(cache):
    data = load(cache)
    assert data.labels == synthetic.WORDS
    assert [item.label for item in data["train"]][:36] == [*range(35), 0]
    for item in data["train"]:
        assert item.source.shape == (16000,)
        assert item.source.dtype == np.int16
        level = np.abs(item.source.astype("float32")).max() / 32768
        assert 0.05 < level <= 1


def test_the_cache_is_used(cache, monkeypatch):
    load(cache)

    def fail(chunk):
        raise AssertionError("made again")

    monkeypatch.setattr(synthetic, "_run_worker", fail)
    load(cache)
    with pytest.raises(AssertionError, match="made again"):
        load(cache, seed=9)
    # What failed has left nothing.
    assert not [path for path in cache.iterdir() if path.name[0] == "."]


def test_voices_are_disjoint():
    sets = [set(synthesis.variants(split)) for split in base.SPLITS]
    assert set.union(*sets) == set(espeak.variants())
    assert sum(map(len, sets)) == len(espeak.variants())
    assert min(map(len, sets)) > 10
    for split, names in zip(base.SPLITS, sets):
        for index in range(50):
            voice = synthesis.plan("slu", split, 0, index).voice
            assert voice.partition("+")[2] in names


def test_enhancement_has_fixed_mixtures_with_noise_of_their_own(cache):
    data = load(cache, "se", (4, 2, 6))
    assert all(item.noise is None for item in data["train"])
    assert len(data.noises) == 6
    for item in [*data["validation"], *data["test"]]:
        assert item.snr_db in data.snrs_db
        assert 0 <= item.offset < len(item.noise)
        assert not any(np.array_equal(item.noise, n) for n in data.noises)
    assert all(len(item.clean) > 8000 for item in data["train"])


def test_commands_have_thirty_one_intents(cache):
    assert len(texts.INTENTS) == 31
    assert all(len(set(p)) >= 5 for p in texts.PHRASES.values())
    said = [text for phrases in texts.PHRASES.values() for text in phrases]
    assert len(set(said)) == len(said)  # no phrase has two meanings
    data = load(cache, "slu", (3, 1, 1))
    assert data.labels == texts.INTENTS
    assert [item.label for item in data["train"]] == [(0,), (1,), (2,)]


def test_every_voice_speaks_every_accent():
    # In a process of its own: the library's state is this process's state.
    code = """
import sys
from datasets import espeak
voice = espeak.Espeak()
for accent in espeak.ACCENTS:
    for variant in espeak.variants()[:: 1 if accent == "en" else 13]:
        audio = voice.say("stop", f"{accent}+{variant}")
        seconds = len(audio) / voice.sample_rate
        assert 0.15 < seconds < 2 and abs(audio).max() > 0.02, variant
        assert voice.say("stop", accent, rate=100).size > 4000
try:
    voice.say("stop", "zz-nowhere")
except ValueError as e:
    print(e)
"""
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=synthetic.__file__.rpartition("datasets")[0],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert "`voice` must be one of espeak-ng's" in run.stdout


def test_a_worker_that_fails_says_why(cache, monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", "nonsense")
    with pytest.raises(base.DataError, match="(?s)ended with status.*SEED"):
        load(cache, seed=77)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"task": "asr"}, "`task` must be one of"),
        ({"sizes": (1, 2)}, "`sizes` must be three"),
        ({"sizes": (1, 2, 0)}, "`sizes` must be three"),
        ({"seed": -1}, "`seed` must be"),
    ],
)
def test_bad_arguments(cache, arguments, message):
    with pytest.raises(base.DataError, match=message):
        load(cache, **arguments)


def test_a_missing_synthesizer_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    with pytest.raises(base.DataError, match="pip install espeakng-loader"):
        espeak.variants()


def spectrum(audio):
    return np.abs(np.fft.rfft(audio)) ** 2


@pytest.mark.parametrize("kind", acoustics.NOISES)
def test_noises_have_a_power_of_one(kind):
    rng = np.random.default_rng(0)
    voices = [rng.standard_normal(3000), rng.standard_normal(90000)]
    noise = acoustics.noise(rng, kind, 40000, voices)
    assert noise.shape == (40000,)
    assert np.mean(noise**2) == pytest.approx(1, rel=1e-4)


@pytest.mark.parametrize(
    "kind, slope", [("white", 0), ("pink", -3.01), ("brown", -6.02)]
)
def test_colors_fall_by_so_many_decibels_an_octave(kind, slope):
    noise = acoustics.noise(np.random.default_rng(0), kind, 2**17)
    power = spectrum(noise)
    hz = np.arange(len(power)) * 16000 / 2**17
    bands = [
        power[(hz >= low) & (hz < 2 * low)].mean() for low in (500, 1000, 2000)
    ]
    steps = 10 * np.diff(np.log10(bands))
    np.testing.assert_allclose(steps, slope, atol=0.4)


def test_hum_is_at_the_mains_frequency():
    noise = acoustics.noise(np.random.default_rng(0), "hum", 16000)
    loudest = spectrum(noise)[:130].argmax()
    assert loudest % 50 in (49, 0, 1) or loudest % 60 in (59, 0, 1)


def test_a_room_adds_a_tail_that_decays():
    click = np.zeros(100, "float32")
    click[0] = 1
    heard = acoustics.room(np.random.default_rng(0), click)
    assert heard[0] == pytest.approx(1, abs=1e-4)
    tail = heard[1:-99]
    assert np.sum(tail**2) < 0.51
    half = len(tail) // 2
    assert np.sum(tail[half:] ** 2) < 0.01 * np.sum(tail**2)
