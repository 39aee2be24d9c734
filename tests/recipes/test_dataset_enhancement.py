"""Noisy speech: segments, whole utterances, and how noise is mixed in."""

import dataclasses

import numpy as np
import pytest

from datasets import base
from datasets import variety
from datasets.enhancement_batches import EnhancementBatches
from datasets.mixing import excerpt
from datasets.mixing import mix
from tests.recipes.fake_data import noise
from tests.recipes.fake_data import speech_data
from tests.recipes.fake_data import tone

pytestmark = pytest.mark.any_backend


def test_segments_are_cut_at_the_same_place_and_mixed_at_the_ratios():
    data = speech_data()
    batches = EnhancementBatches(data, "train", 12, True, seed=1, segment=4000)
    noisy, clean = batches[0]
    assert noisy.shape == clean.shape == (12, 4000)
    again, other = batches[1]
    rows = {index: row for row, index in enumerate(batches.indices(0)[0])}
    rows_later = {index: row for row, index in enumerate(batches.indices(1)[0])}
    moved = sum(
        not np.array_equal(clean[rows[i]], other[rows_later[i]]) for i in rows
    )
    assert moved >= 10
    for index, row in rows.items():
        whole_noisy, whole = batches.utterance(index, epoch=0)
        ratio = np.sum(whole**2) / np.sum((whole_noisy - whole) ** 2)
        assert round(10 * np.log10(ratio), 3) in (0.0, 10.0)
        start = np.flatnonzero(
            [
                np.array_equal(whole[s : s + 4000], clean[row])
                for s in range(len(whole) - 3999)
            ]
        )[0]
        np.testing.assert_array_equal(
            whole_noisy[start : start + 4000], noisy[row]
        )


def test_training_varies_loudness_and_noise_and_nothing_else_does():
    data = speech_data()
    plain = EnhancementBatches(
        data,
        "train",
        12,
        True,
        1,
        4000,
        max_gain_db=0,
        noise_variety=0,
        made_noise=0,
    )
    varied = EnhancementBatches(data, "train", 12, True, 1, 4000, made_noise=0)
    gains, spectra = [], []
    for index in range(12):
        noisy, clean = plain.utterance(index)
        other_noisy, other = varied.utterance(index)
        gain = np.vdot(other, clean) / np.vdot(clean, clean)
        np.testing.assert_allclose(other, gain * clean, rtol=1e-3, atol=1e-6)
        gains.append(20 * np.log10(gain))
        noises = (noisy - clean, (other_noisy - other) / gain)
        spectra.append(not np.allclose(*noises, rtol=0.1, atol=1e-3))
    assert min(gains) < -1 and max(gains) > 1 and max(map(abs, gains)) < 6.01
    assert 3 <= sum(spectra) <= 12
    fixed = EnhancementBatches(data, "test", 1)
    whole_noisy, whole = fixed.utterance(0)
    np.testing.assert_array_equal(whole, fixed.samples(data["test"][0].clean))


def test_training_makes_noise_up():
    data = speech_data()

    def noises(share):
        batches = EnhancementBatches(
            data, "train", 12, True, 1, noise_variety=0, made_noise=share
        )
        assert len(batches.utterance(3)[0]) == 8000
        for index in range(12):
            noisy, clean = batches.utterance(index)
            yield (noisy - clean) / np.linalg.norm(noisy - clean)

    recorded = [data.noises[0], np.tile(data.noises[1], 11)]
    recorded = [sound[:16000] for sound in recorded]

    def is_recorded(sound):
        # Its correlation with a recording at the right place is one.
        for source in recorded:
            windows = np.lib.stride_tricks.sliding_window_view(source, 2000)
            level = np.linalg.norm(windows, axis=1)
            level = level * np.linalg.norm(sound[:2000])
            if np.max(windows @ sound[:2000] / level) > 0.99:
                return True
        return False

    assert not any(map(is_recorded, noises(1)))
    made = 12 - sum(map(is_recorded, noises(0.5)))
    assert 2 <= made <= 10


def test_whole_utterances_for_evaluation():
    data = speech_data()
    batches = EnhancementBatches(data, "validation", 2)
    assert len(batches) == 3
    for step in range(3):
        noisy, clean = batches[step]
        for row, index in enumerate(batches.indices(0)[step]):
            item = data["validation"][index]
            expected, target = mix(item.clean, item.noise, 5.0, 30)
            length = len(item.clean)
            np.testing.assert_allclose(noisy[row, :length], expected, rtol=1e-5)
            np.testing.assert_array_equal(clean[row, :length], target)
            assert not noisy[row, length:].any()
    noisy, clean = EnhancementBatches(data, "test", 1)[2]
    assert noisy.shape == clean.shape == (1, 900)


def test_mix_meets_the_ratio():
    speech, sound = tone(16000, 0.3), noise(5000)
    noisy, clean = mix(speech, sound, 7.5, 4000)
    added = noisy - clean
    ratio = 10 * np.log10(np.sum(clean**2) / np.sum(added**2))
    assert ratio == pytest.approx(7.5, abs=1e-3)
    # Repeated from the offset on.
    np.testing.assert_allclose(added[1000:6000], added[6000:11000], atol=1e-6)
    expected = sound[4000:] * (added[0] / sound[4000])
    np.testing.assert_allclose(added[:1000], expected, atol=1e-5)


def test_mix_does_not_exceed_full_scale():
    noisy, clean = mix(tone(1000, 0.9), noise(1000), -10)
    assert np.abs(noisy).max() == pytest.approx(1)
    ratio = np.sum(clean**2) / np.sum((noisy - clean) ** 2)
    assert 10 * np.log10(ratio) == pytest.approx(-10, abs=1e-3)


def test_mix_of_silence_is_the_speech():
    speech = tone(100)
    np.testing.assert_array_equal(mix(speech, np.zeros(10), 0)[0], speech)
    np.testing.assert_array_equal(mix(0 * speech, noise(10), 0)[0], 0 * speech)


@pytest.mark.parametrize("offset", [0, 3, 9, 10, 25])
@pytest.mark.parametrize("length", [1, 7, 10, 33])
def test_excerpt(offset, length):
    part = excerpt(np.arange(10), offset, length)
    np.testing.assert_array_equal(part, (np.arange(length) + offset) % 10)


def test_speech_without_noise_to_mix_is_found_before_training():
    data = dataclasses.replace(speech_data(), noises=())
    with pytest.raises(base.DataError, match="has no `noises`"):
        EnhancementBatches(data, "train", training=True, batch_size=2)
    EnhancementBatches(data, "validation")


def test_published_pairs_swap_their_noises():
    noises = [
        np.full(n, 0.01 * (i + 1), "float32")
        for i, n in enumerate((60, 90, 120))
    ]
    cleans = [tone(len(n), 0.1) for n in noises]
    pairs = [
        base.Pair(str(i), clean + sound, clean, "p1")
        for i, (clean, sound) in enumerate(zip(cleans, noises))
    ]
    splits = {"train": pairs, "validation": pairs, "test": pairs}
    data = base.Dataset(name="pairs", task="se", splits=splits, rates=(16000,))

    def added(swap_noise, training=True, split="train"):
        batches = EnhancementBatches(
            data,
            split,
            3,
            training,
            max_gain_db=0,
            swap_noise=swap_noise,
        )
        levels = []
        for epoch in range(20):
            for index, clean in enumerate(cleans):
                noisy, target = batches.utterance(index, epoch)
                np.testing.assert_array_equal(target, clean)
                # Every noise is constant: where it comes from can be read off.
                levels.append(np.round((noisy - target) / 0.01, 3))
        assert all(np.ptp(level) < 0.01 for level in levels)
        return np.round([level[0] for level in levels]).reshape(20, 3)

    own = np.tile([1, 2, 3], (20, 1))
    np.testing.assert_array_equal(added(0), own)
    np.testing.assert_array_equal(added(1, training=False, split="test"), own)
    swapped = added(1)
    assert all(set(column) == {1, 2, 3} for column in swapped.T)
    assert 0.2 < np.mean(added(0.5) != own) < 0.5


def test_variety_is_for_its_share_of_the_training_segments():
    data = speech_data()
    given = ("train", 12, True, 1, 4000)
    plain = EnhancementBatches(data, *given)[0]
    some, all_ = (
        EnhancementBatches(data, *given, variety=share)[0]
        for share in (0.5, 1.0)
    )
    again = EnhancementBatches(data, *given, variety=0.5)[0]
    np.testing.assert_array_equal(some, again)
    same = np.array([np.array_equal(a, b) for a, b in zip(plain[0], some[0])])
    assert 0 < same.sum() < 12
    # What is left as it was is so on both sides, and the others are not.
    np.testing.assert_array_equal(plain[1][same], some[1][same])
    np.testing.assert_array_equal(all_[0][~same], some[0][~same])
    assert not any(np.array_equal(a, b) for a, b in zip(plain[0], all_[0]))
    for split in ("validation", "test"):
        for one, other in zip(
            EnhancementBatches(data, split, 2)[0],
            EnhancementBatches(data, split, 2, variety=1.0)[0],
        ):
            np.testing.assert_array_equal(one, other)


def test_validation_hears_variety_too_and_always_the_same():
    data = speech_data()
    plain, all_ = (
        EnhancementBatches(data, "validation", 2, variety=share)
        for share in (0.0, 1.0)
    )
    for index in range(len(plain.items)):
        noisy, clean = plain.utterance(index)
        for one, whole in zip(plain.beginning(index, 4000), (noisy, clean)):
            np.testing.assert_array_equal(one, whole[:4000])
        heard = all_.beginning(index, 4000)
        for one, again in zip(heard, all_.beginning(index, 4000)):
            np.testing.assert_array_equal(one, again)
            assert len(one) <= 4000
        assert not np.array_equal(heard[0], noisy[:4000])


def varied(clean, seconds=1, count=200, **only):
    """`(noisy, clean)` of many draws, out of speech with a little noise."""
    rng = np.random.default_rng(0)
    noisy = clean + 0.01 * rng.standard_normal(len(clean)).astype("float32")
    for _ in range(count):
        yield variety.vary(noisy, clean, rng, int(seconds * 16000))


def test_variety_has_its_levels_and_ratios():
    clean = tone(variety.longest(16000), 0.1, 2 * np.pi * 1000)
    levels, ratios = [], []
    for noisy, target in varied(clean):
        assert noisy.dtype == target.dtype == "float32"
        assert len(noisy) == len(target) == 16000
        assert abs(noisy).max() <= 1 + 1e-6
        power = np.mean(target**2)
        levels.append(10 * np.log10(power / np.mean(clean**2)))
        if not np.array_equal(noisy, target):
            noise = np.mean((noisy - target) ** 2)
            ratios.append(10 * np.log10(power / noise))
    low, high = variety.SNRS_DB
    assert low - 0.1 < min(ratios) < low + 3 and high - 3 < max(ratios) < high
    assert 0.01 < 1 - len(ratios) / 200 < 0.15
    # Beyond the range by what microphones and rooms make of a tone.
    assert -42 < min(levels) < -20 and 0 < max(levels) < 12


def test_variety_changes_pitch_and_spectrum(monkeypatch):
    monkeypatch.setattr(variety, "ROOM", 0)
    clean = tone(variety.longest(16000), 0.1, 2 * np.pi * 1000)
    loudest, widths = [], []
    for _, target in varied(clean):
        spectrum = abs(np.fft.rfft(target * np.hanning(16000))) ** 2
        loudest.append(int(spectrum.argmax()))
    low, high = variety.SPEEDS
    assert min(loudest) == pytest.approx(1000 * low, rel=0.02)
    assert max(loudest) == pytest.approx(1000 * high, rel=0.02)
    monkeypatch.setattr(variety, "SPEEDS", (1.0, 1.0))
    monkeypatch.setattr(variety, "NARROW", 0)
    rng = np.random.default_rng(1)
    white = rng.standard_normal(variety.longest(16000)).astype("float32")
    for _, target in varied(0.1 * white, count=100):
        power = abs(np.fft.rfft(target)) ** 2
        bands = [np.mean(band) for band in np.array_split(power, 8)]
        widths.append(np.ptp(10 * np.log10(bands)))
    # Without an equalizer they differ by 2 dB at the most.
    assert np.mean(np.array(widths) > 4) > 0.9
    assert 5 < np.median(widths) < 20


def test_variety_has_noise_that_rises_and_falls(monkeypatch):
    monkeypatch.setattr(variety, "ROOM", 0)
    monkeypatch.setattr(variety, "HISS", 0)
    monkeypatch.setattr(variety, "MADE_NOISE", 0)
    clean = tone(variety.longest(32000), 0.1, 2 * np.pi * 1000)

    def deviation(share):
        monkeypatch.setattr(variety, "GUSTS", share)
        found = []
        for noisy, target in varied(clean, 2, 60):
            frames = (noisy - target).reshape(-1, 1600)
            power = np.mean(frames**2, axis=1)
            if power.all():
                found.append(np.std(10 * np.log10(power)))
        return np.array(found)

    steady, rising = deviation(0), deviation(1)
    assert steady.max() < 1.5
    assert np.mean(rising > 2) > 0.9 and 3 < np.median(rising) < 9


@pytest.mark.parametrize("seconds", [0.01, 0.5])
def test_variety_of_short_and_silent_recordings(seconds):
    silence = np.zeros(int(seconds * 16000), "float32")
    rng = np.random.default_rng(0)
    for _ in range(20):
        for audio in variety.vary(silence, silence, rng, 16000):
            assert np.isfinite(audio).all() and len(audio) <= 16000
