import numpy as np
import pytest

from keras_duspar.losses import STOI
from tests.helpers import saved_and_loaded


def reference_stoi(clean, estimate):
    """Taal's definition in loops, silent frames really removed."""
    length, hop, fft = 410, 205, 1024
    window = np.hanning(length + 2)[1:-1]

    def cut(audio):
        starts = range(0, len(audio) - length + 1, hop)
        return [audio[start : start + length] * window for start in starts]

    energies = np.array([np.sum(frame**2) for frame in cut(clean)])
    kept = 10 * np.log10(energies / energies.max()) > -40
    hz = np.arange(fft // 2 + 1) * 16000 / fft
    step = 16000 / fft

    def bands(audio):
        rows = []
        for frame, keep in zip(cut(audio), kept):
            if not keep:
                continue
            power = np.abs(np.fft.rfft(frame, fft)) ** 2
            row = []
            for i in range(15):
                center = 150 * 2 ** (i / 3)
                low, high = center / 2 ** (1 / 6), center * 2 ** (1 / 6)
                share = [
                    max(min(f + step / 2, high) - max(f - step / 2, low), 0)
                    for f in hz
                ]
                row.append(np.sqrt(np.dot(power, share) / step))
            rows.append(row)
        return np.array(rows).T

    x, y = bands(clean), bands(estimate)
    correlations = []
    for end in range(30, x.shape[1] + 1):
        for x_band, y_band in zip(x[:, end - 30 : end], y[:, end - 30 : end]):
            scale = np.linalg.norm(x_band) / np.linalg.norm(y_band)
            clipped = np.minimum(
                scale * y_band, x_band + x_band * 10 ** (15 / 20)
            )
            correlations.append(np.corrcoef(x_band, clipped)[0, 1])
    return np.mean(correlations)


@pytest.fixture
def pair(speech_like):
    clean = speech_like(0)
    noise = np.random.default_rng(1).normal(size=clean.shape)
    return clean, clean + noise * [[0.1], [1.0]]


def test_equals_the_definition(pair, evaluate):
    expected = [1 - reference_stoi(*signals) for signals in zip(*pair)]
    loss = evaluate(STOI(reduction=None), *pair)
    np.testing.assert_allclose(loss, expected, atol=1e-4)
    # The two differ, and frames were removed.
    assert loss[1] > 2 * loss[0] > 0.01


def test_correlates_with_pystoi_on_real_mixtures(mixtures, evaluate):
    pystoi = pytest.importorskip("pystoi")
    # One length, so that nothing is compiled twice.
    pairs = [
        (clean[:24000], noisy[:24000])
        for clean, noisy in mixtures
        if len(clean) >= 24000
    ]
    assert len(pairs) >= 40
    scores = [pystoi.stoi(*signals, 16000) for signals in pairs]
    clean, noisy = np.stack(pairs, axis=1)
    losses = evaluate(STOI(reduction=None), clean, noisy)
    assert np.corrcoef(scores, 1 - losses)[0, 1] > 0.98
    np.testing.assert_allclose(1 - losses, scores, atol=0.03)


def test_gradient_equals_finite_differences(pair, check_slope):
    def reference(clean, noisy):
        return 1 - reference_stoi(clean, noisy)

    check_slope(STOI(reduction=None), reference, pair, 1e-4, 0.01)


def test_level_of_the_estimate_does_not_matter(pair, evaluate):
    clean, noisy = pair
    loss = STOI(reduction=None)
    np.testing.assert_allclose(
        evaluate(loss, clean, 0.1 * noisy),
        evaluate(loss, clean, noisy),
        atol=1e-3,
    )


def test_padding_does_not_count(pair, evaluate):
    clean, noisy = (signal.copy() for signal in pair)
    end = 410 + 205 * 36
    clean[:, end:] = 0
    expected = [
        1 - reference_stoi(a[:end], b[:end]) for a, b in zip(clean, noisy)
    ]
    loss = evaluate(STOI(reduction=None), clean, noisy)
    # One frame reaches into the padding.
    np.testing.assert_allclose(loss, expected, atol=0.02)
    noisy[:, end + 205 :] = 7.0
    again = evaluate(STOI(reduction=None), clean, noisy)
    np.testing.assert_array_equal(again, loss)


def test_fewer_frames_than_a_segment(pair, evaluate):
    clean, noisy = (signal[:, :3000] for signal in pair)
    loss = evaluate(STOI(reduction=None), clean, noisy)
    assert (loss > 0.001).all() and (loss < 1).all()
    assert abs(float(evaluate(STOI(), clean, clean))) < 1e-3


@pytest.mark.any_backend
def test_config_round_trip():
    loss = STOI(reduction="sum", name="mine")
    again = saved_and_loaded(loss)
    assert isinstance(again, STOI)
    assert again.get_config() == loss.get_config()
