"""The sum of the losses, and what all losses on waveforms have in common."""

import numpy as np
import pytest

import keras_duspar
from keras_duspar.losses import PMSQE
from keras_duspar.losses import STOI
from keras_duspar.losses import Enhancement
from keras_duspar.losses import NegativeSISNR
from tests.helpers import saved_and_loaded

LOSSES = [NegativeSISNR, PMSQE, STOI, Enhancement]


def test_is_the_weighted_sum(speech_like, evaluate):
    clean, noisy = speech_like(0), speech_like(1)
    weights = {
        "mse_weight": 2.0,
        "pmsqe_weight": 3.0,
        "stoi_weight": 5.0,
        "si_snr_weight": 7.0,
    }
    expected = (
        2 * np.mean((clean - noisy) ** 2)
        + 3 * float(evaluate(PMSQE(), clean, noisy))
        + 5 * float(evaluate(STOI(), clean, noisy))
        + 7 * float(evaluate(NegativeSISNR(), clean, noisy))
    )
    loss = evaluate(Enhancement(**weights), clean, noisy)
    np.testing.assert_allclose(float(loss), expected, rtol=1e-5)
    only = evaluate(Enhancement(1, 0, 0, 0), clean, noisy)
    expected = np.mean((clean - noisy) ** 2)
    np.testing.assert_allclose(float(only), expected, rtol=1e-5)


@pytest.mark.parametrize("loss_class", LOSSES)
def test_value_and_gradient_are_finite(loss_class, speech_like, gradient):
    speech, other = (speech_like(i, batch=1)[0] for i in range(2))
    silence = 0 * speech
    cases = {
        "usual": (speech, speech + other),
        "equal": (speech, speech),
        "silent": (silence, silence),
        "silent target": (silence, speech),
        "silent estimate": (speech, silence),
    }
    clean, estimate = np.stack(list(cases.values()), axis=1).astype("float32")
    loss = loss_class(reduction="sum")
    slopes = gradient(lambda x: loss(clean, x), estimate)
    for case, slope in zip(cases, slopes):
        assert np.isfinite(slope).all(), case
    assert np.abs(slopes[0]).max() > 0


@pytest.mark.parametrize("loss_class", [NegativeSISNR, PMSQE, STOI])
def test_batch_equals_single_examples(loss_class, speech_like, evaluate):
    clean, noisy = speech_like(0), speech_like(1)
    loss = loss_class(reduction=None)
    batch = evaluate(loss, clean, noisy)
    assert batch.shape == (2,)
    alone = evaluate(loss, clean[1:], noisy[1:])
    np.testing.assert_allclose(alone, batch[1:], rtol=1e-4, atol=1e-4)


def test_model_trains_on_audio_of_any_length(speech_like):
    model = keras_duspar.models.speech_enhancer("spar", 4, num_layers=1)
    model.compile("adam", Enhancement())
    for samples in (600, 8000):
        noisy = speech_like(1, samples).astype("float32")
        clean = speech_like(0, samples).astype("float32")
        assert np.isfinite(model.train_on_batch(noisy, clean))
    for weight in model.get_weights():
        assert np.isfinite(weight).all()


@pytest.mark.any_backend
def test_config_round_trip():
    loss = Enhancement(1, 2, 3, 4, reduction="sum", name="mine")
    again = saved_and_loaded(loss)
    assert isinstance(again, Enhancement)
    assert again.get_config() == loss.get_config()
    assert again.si_snr_weight == 4


@pytest.mark.any_backend
@pytest.mark.parametrize("loss_class", LOSSES)
def test_bad_audio(loss_class):
    loss = loss_class()
    good = np.zeros((2, 1000))
    with pytest.raises(ValueError, match="`y_true` of .* must be of shape"):
        loss(np.zeros((2, 1000, 1)), np.zeros((2, 1000, 1)))
    with pytest.raises(ValueError, match="must have equally many samples"):
        loss(good, np.zeros((2, 900)))


@pytest.mark.any_backend
def test_bad_arguments():
    with pytest.raises(ValueError, match="`stoi_weight` must be a number"):
        Enhancement(stoi_weight=-1)
    with pytest.raises(ValueError, match="must have at least 410 samples"):
        STOI()(np.zeros((1, 400)), np.zeros((1, 400)))
    with pytest.raises(ValueError, match="must have at least 512 samples"):
        PMSQE()(np.zeros((1, 500)), np.zeros((1, 500)))
