"""Levels and noises of training clips, as asked for."""

import numpy as np
import pytest

from datasets import base
from datasets.batches import IntentBatches
from datasets.batches import KeywordBatches
from tests.recipes.fake_data import command_data
from tests.recipes.fake_data import noise
from tests.recipes.fake_data import tone
from tests.recipes.fake_data import word_data

pytestmark = pytest.mark.any_backend


def loud_words(level, count=200):
    items = [base.Clip(tone(16000, level), 0) for _ in range(count)]
    splits = {"train": items, "validation": items[:5], "test": items[:5]}
    return base.Dataset("loud", "kws", splits, ("a",))


def all_of(data, **options):
    options = {"max_shift": 0, "noise_probability": 0.0, **options}
    count = len(data["train"])
    return KeywordBatches(data, "train", count, True, seed=2, **options)[0][0]


def decibels(ratio):
    return 10 * np.log10(ratio)


def test_levels_are_spread_over_the_range():
    data = loud_words(0.1)
    clean = data["train"][0].source
    audio = all_of(data, gain_db=(-30.0, 6.0))
    gains = decibels(np.sum(audio**2, axis=1) / np.sum(clean**2))
    assert gains.min() >= -30.001 and gains.max() <= 6.001
    # Uniform: the mean of 200 lies within 3 standard errors.
    assert gains.mean() == pytest.approx(-12, abs=3 * 36 / 12**0.5 / 200**0.5)
    # Nothing but the level has changed.
    np.testing.assert_allclose(
        audio, clean * 10 ** (gains[:, None] / 20), atol=1e-6
    )


def test_nothing_is_clipped():
    audio = all_of(loud_words(0.9), gain_db=(20.0, 20.0))
    np.testing.assert_allclose(abs(audio).max(axis=1), 1, atol=1e-6)
    zero = all_of(loud_words(0.0), gain_db=(6.0, 6.0))
    assert not zero.any()


@pytest.mark.parametrize("made", [0.0, 0.5, 1.0])
def test_ratios_are_those_asked_for(made):
    data = word_data(200, noises=(noise(20000).astype("float32"),))
    options = {
        "noise_probability": 1.0,
        "noise_snrs_db": (3.0, 9.0),
        "made_noise": made,
    }
    noisy, clean = all_of(data, **options), all_of(data)
    # A sum over full scale is turned down with its speech.
    rest = noisy - clean
    whole = abs(noisy).max(axis=1) < 1
    ratios = decibels(np.sum(clean**2, axis=1) / np.sum(rest**2, axis=1))
    assert whole.sum() > 30
    assert ratios[whole].min() >= 2.99 and ratios[whole].max() <= 9.01
    assert np.ptp(ratios[whole]) > 4


def test_made_noises_are_of_all_kinds_and_come_again_with_the_seed():
    options = {"training": True, "made_noise": 1.0}
    one = KeywordBatches(word_data(), "train", 50, **options).made_noises
    two = KeywordBatches(word_data(), "train", 50, **options).made_noises
    for a, b in zip(one, two):
        np.testing.assert_array_equal(a, b)
    # Hum and babble of tones are peaky spectra, noise is not.
    flatness = [
        np.exp(np.mean(np.log(power))) / np.mean(power)
        for power in (abs(np.fft.rfft(a)[1:]) ** 2 for a in one)
    ]
    assert min(flatness) < 0.01 and max(flatness) > 0.4
    other = KeywordBatches(word_data(), "train", 50, seed=1, **options)
    assert not np.array_equal(one[0], other.made_noises[0])


def test_without_recorded_noise_noise_is_made():
    options = {"noise_probability": 1.0, "made_noise": 0.5}
    noisy, clean = all_of(word_data(), **options), all_of(word_data())
    assert (noisy != clean).any(axis=1).all()


def test_intents_are_augmented_too():
    data = command_data()
    options = {"gain_db": (-12.0, -12.0), "noise_probability": 0.0}
    soft = IntentBatches(data, "train", 8, True, seed=1, **options)[0][0]
    clean = IntentBatches(data, "train", 8, True, seed=1)[0][0]
    np.testing.assert_allclose(soft, clean * 10 ** (-12 / 20), atol=1e-6)


def test_validation_is_left_alone():
    data = word_data(noises=(noise(20000).astype("float32"),))
    options = {"noise_probability": 1.0, "gain_db": (-9, -9), "made_noise": 1}
    audio, _ = KeywordBatches(data, "validation", 7, **options)[0]
    expected = [item.source for item in data["validation"]]
    np.testing.assert_array_equal(audio, expected)


def test_a_step_is_the_same_whenever_it_is_asked_for():
    data = word_data(noises=(noise(20000).astype("float32"),))
    options = {"made_noise": 0.5, "gain_db": (-30, 6)}
    one = KeywordBatches(data, "train", 8, True, seed=4, **options)
    other = KeywordBatches(data, "train", 8, True, seed=4, **options)
    straight = [one[step][0] for step in range(2 * len(one))]
    for step in reversed(range(len(straight))):
        np.testing.assert_array_equal(other[step][0], straight[step])


@pytest.mark.parametrize(
    "name, value",
    [
        ("gain_db", [6.0, -30.0]),
        ("gain_db", [0.0]),
        ("noise_snr", [0.0, float("inf")]),
        ("noise_snr", ["a", 3]),
        ("noise_share", 1.5),
        ("words", "few"),
    ],
)
def test_bad_settings_are_named(name, value):
    import kws
    from trainer import config as configs

    with pytest.raises(ValueError, match=f"`{name}` must be"):
        configs.make(kws.Config, {name: value})
