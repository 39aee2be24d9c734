import numpy as np
import pytest

from keras_duspar.losses import PMSQE
from keras_duspar.losses import pmsqe
from tests.helpers import saved_and_loaded


def bark(hz):
    return 26.81 * hz / (1960 + hz) - 0.53


class Reference:
    """The definition in loops over frames and bands."""

    def __init__(self):
        self.window = np.sin(np.pi * np.arange(512) / 512) ** 2
        fine = np.arange(50, 8000, 0.05) + 0.025
        self.edges = np.linspace(bark(50), bark(8000), 50)
        self.width = self.edges[1] - self.edges[0]
        # Frequencies on a fine grid tell which bin lies in which band.
        band = np.digitize(bark(fine), self.edges) - 1
        bin_ = np.floor(fine / 31.25 + 0.5).astype(int)
        self.share = np.zeros((257, 49))
        np.add.at(self.share, (bin_, band), 0.05 / 31.25)
        center = (self.edges[1:] + self.edges[:-1]) / 2
        khz = 1.96 * (center + 0.53) / (26.28 - center)
        decibel = 3.64 / khz**0.8 + khz**4 / 1000
        decibel -= 6.5 * np.exp(-0.6 * (khz - 3.3) ** 2)
        self.quiet = 10 ** (decibel / 10)
        self.gamma = [
            0.23 * min(6 / (z + 2), 2) ** 0.15 if z < 4 else 0.23
            for z in center
        ]
        time = np.arange(512) / 16000
        tone = np.sqrt(2e4) * np.sin(2 * np.pi * 1000 * time)
        power = self.spectrum(tone) @ self.share
        self.share *= 1e4 / power.max()
        self.sone = 1.0
        loudness = self.loudness(self.spectrum(tone) @ self.share)
        self.sone = 1 / (loudness.sum() * self.width)

    def spectrum(self, frame):
        power = np.abs(np.fft.rfft(frame * self.window)) ** 2
        return power / (256 * np.sum(self.window**2))

    def loudness(self, power):
        return np.array(
            [
                self.sone
                * (quiet / 0.5) ** gamma
                * max((0.5 + 0.5 * p / quiet) ** gamma - 1, 0)
                for p, quiet, gamma in zip(power, self.quiet, self.gamma)
            ]
        )

    def __call__(self, clean, estimate):
        starts = range(0, len(clean) - 511, 256)
        x = np.array([self.spectrum(clean[s : s + 512]) for s in starts])
        y = np.array([self.spectrum(estimate[s : s + 512]) for s in starts])
        # 350 and 3250 Hz lie within the bins 11 and 104.
        band = np.zeros(257)
        band[12:104] = 1
        band[11] = 11.5 - 350 / 31.25
        band[104] = 3250 / 31.25 - 103.5
        x = x @ self.share * 10**7.9 / np.mean(x @ band)
        y = y @ self.share * 10**7.9 / np.mean(y @ band)
        loud = [row[row > 100 * self.quiet].sum() > 1e5 for row in x]
        ratio = (y[loud].mean(0) + 1000) / (x[loud].mean(0) + 1000)
        x = x * np.clip(ratio, 0.01, 100)
        total = 0
        for clean_frame, frame in zip(x, y):
            audible = clean_frame[clean_frame > self.quiet].sum()
            gain = (audible + 5e3) / (frame[frame > self.quiet].sum() + 5e3)
            frame = frame * min(max(gain, 3e-4), 5)
            a, b = self.loudness(clean_frame), self.loudness(frame)
            difference = np.abs(a - b) - np.minimum(a, b) / 4
            difference[difference < 0] = 0
            factor = ((frame + 50) / (clean_frame + 50)) ** 1.2
            factor[factor < 3] = 0
            factor[factor > 12] = 12
            symmetric = np.sqrt(np.sum(difference**2) * 49) * self.width
            asymmetric = np.sum(difference * factor) * self.width
            power = ((audible + 1e5) / 1e7) ** 0.04
            total += 4.5 * np.tanh(symmetric / power / 45)
            total += 0.0309 * 45 * np.tanh(asymmetric / power / 45)
        return total / len(x)


@pytest.fixture
def pair(speech_like):
    clean = speech_like(0)
    noise = np.random.default_rng(1).normal(size=clean.shape)
    return clean, clean + noise * [[0.01], [0.3]]


def test_equals_the_definition(pair, evaluate):
    reference = Reference()
    expected = [reference(*signals) for signals in zip(*pair)]
    loss = evaluate(PMSQE(reduction=None), *pair)
    np.testing.assert_allclose(loss, expected, rtol=2e-3)
    assert (np.diff(loss) > 0.1).all()


def test_correlates_with_pesq_on_real_mixtures(mixtures, evaluate):
    pesq = pytest.importorskip("pesq")
    # One length, so that nothing is compiled twice.
    pairs = [
        (clean[:24000], noisy[:24000])
        for clean, noisy in mixtures
        if len(clean) >= 24000
    ]
    assert len(pairs) >= 40
    scores = [pesq.pesq(16000, *signals, "wb") for signals in pairs]
    clean, noisy = np.stack(pairs, axis=1)
    losses = evaluate(PMSQE(reduction=None), clean, noisy)
    assert np.corrcoef(scores, losses)[0, 1] < -0.8
    ranks = [np.argsort(np.argsort(values)) for values in (scores, losses)]
    assert np.corrcoef(*ranks)[0, 1] < -0.9


@pytest.mark.any_backend
def test_calibration():
    # 1 kHz is 8.5 Bark, and hearing is best between 3 and 4 kHz.
    np.testing.assert_allclose(pmsqe.to_bark(1000.0), 8.53, atol=0.01)
    np.testing.assert_allclose(pmsqe.to_hz(pmsqe.to_bark(440.0)), 440)
    hz = np.arange(100, 8000, 10)
    best = hz[np.argmin(pmsqe.hearing_threshold(hz))]
    assert 3000 < best < 4000
    hearing = pmsqe.HearingModel()
    # Every bin from 50 Hz on lies in exactly one band.
    share = hearing.bands.sum(axis=1)
    np.testing.assert_allclose(share[3:-1], share[3])
    assert (hearing.bands.sum(axis=0) > 0).all()


def test_level_and_constant_gain_do_not_matter(pair, evaluate):
    clean, noisy = pair
    loss = PMSQE(reduction=None)
    np.testing.assert_allclose(
        evaluate(loss, 0.3 * clean, 2 * noisy),
        evaluate(loss, clean, noisy),
        rtol=1e-3,
    )


def test_gradient_equals_finite_differences(pair, check_slope):
    check_slope(PMSQE(reduction=None), Reference(), pair, 1e-5, 0.02)


def test_padding_does_not_count(pair, evaluate):
    clean, noisy = (signal.copy() for signal in pair)
    end = 512 + 256 * 22
    clean[:, end:] = 0
    noisy[:, end:] = 0
    reference = Reference()
    expected = [reference(a[:end], b[:end]) for a, b in zip(clean, noisy)]
    loss = evaluate(PMSQE(reduction=None), clean, noisy)
    # One frame reaches into the padding.
    np.testing.assert_allclose(loss, expected, rtol=0.05)
    noisy[:, end + 256 :] = 7.0
    again = evaluate(PMSQE(reduction=None), clean, noisy)
    np.testing.assert_array_equal(again, loss)


@pytest.mark.any_backend
def test_config_round_trip():
    loss = PMSQE(level=70, reduction="sum", name="mine")
    again = saved_and_loaded(loss)
    assert isinstance(again, PMSQE)
    assert again.get_config() == loss.get_config()
    assert again.level == 70


@pytest.mark.any_backend
def test_bad_arguments():
    with pytest.raises(ValueError, match="`level` must be a number in"):
        PMSQE(level=-1)
