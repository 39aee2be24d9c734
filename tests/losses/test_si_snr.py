import numpy as np
import pytest
from keras import ops

from keras_duspar.losses import NegativeSISNR
from tests.helpers import saved_and_loaded


def angle_si_snr(target, estimate):
    """SI-SNR by the angle between the two signals, which scale leaves."""
    target = target - target.mean()
    estimate = estimate - estimate.mean()
    cosine = np.dot(target, estimate)
    cosine /= np.linalg.norm(target) * np.linalg.norm(estimate)
    return 10 * np.log10(cosine**2 / (1 - cosine**2))


@pytest.fixture
def pair(speech_like):
    clean = speech_like(0)
    noise = np.random.default_rng(1).normal(size=clean.shape)
    return clean, clean + noise * [[0.01], [0.5]] + 0.05


def test_equals_the_angle_between_the_signals(pair, evaluate):
    expected = [angle_si_snr(*signals) for signals in zip(*pair)]
    loss = evaluate(NegativeSISNR(reduction=None), *pair)
    np.testing.assert_allclose(-loss, expected, atol=1e-3)


def test_scale_and_mean_of_the_estimate_do_not_matter(pair, evaluate):
    clean, noisy = pair
    loss = NegativeSISNR(reduction=None)
    np.testing.assert_allclose(
        evaluate(loss, clean, 3 * noisy - 0.2),
        evaluate(loss, clean, noisy),
        atol=1e-3,
    )


def test_gradient_equals_finite_differences(pair, gradient, float64):
    clean, noisy = (signal[:, 500:540] for signal in pair)
    target = ops.convert_to_tensor(clean, "float64")
    slope = gradient(
        # Not `__call__`, whose reduction is in float32 on some backends.
        lambda x: ops.sum(NegativeSISNR(dtype="float64").call(target, x)),
        noisy,
    )
    assert slope.dtype == "float64"
    expected = np.zeros_like(noisy)
    for i, j in np.ndindex(noisy.shape):
        up, down = noisy[i].copy(), noisy[i].copy()
        up[j] += 1e-6
        down[j] -= 1e-6
        difference = angle_si_snr(clean[i], down) - angle_si_snr(clean[i], up)
        expected[i, j] = difference / 2e-6
    # The reference has no epsilon.
    np.testing.assert_allclose(slope, expected, rtol=1e-3, atol=1e-3)


def test_perfect_estimate_is_bounded(pair, evaluate):
    loss = float(evaluate(NegativeSISNR(), pair[0], pair[0]))
    assert -80 < loss < -50


@pytest.mark.any_backend
def test_config_round_trip():
    loss = NegativeSISNR(epsilon=1e-4, reduction="sum", name="mine")
    again = saved_and_loaded(loss)
    assert isinstance(again, NegativeSISNR)
    assert again.get_config() == loss.get_config()
    assert again.epsilon == 1e-4


@pytest.mark.any_backend
def test_bad_arguments():
    with pytest.raises(ValueError, match="`epsilon` must be a number in"):
        NegativeSISNR(epsilon=0)
