import os
import subprocess
import sys

import numpy as np
import pytest

from keras_duspar import metrics
from keras_duspar.utils.optional import optional_package

pytestmark = pytest.mark.any_backend


@pytest.fixture
def speech():
    """Noise in bursts: enough like speech for PESQ and STOI."""
    random = np.random.default_rng(0)
    bursts = np.sin(2 * np.pi * 3 * np.arange(24000) / 16000)
    return random.normal(size=24000) * 0.1 * np.clip(bursts, 1e-4, None)


@pytest.fixture
def noise():
    return np.random.default_rng(1).normal(size=24000) * 0.1


@pytest.mark.parametrize("decibel", [-7.0, 0.0, 20.0])
def test_si_sdr_of_orthogonal_noise_is_the_snr(speech, noise, decibel):
    speech = speech - speech.mean()
    noise = noise - noise.mean()
    noise = noise - np.dot(noise, speech) / np.dot(speech, speech) * speech
    ratio = np.linalg.norm(speech) / np.linalg.norm(noise)
    noisy = speech + noise * ratio * 10 ** (-decibel / 20)
    assert metrics.si_sdr(speech, noisy) == pytest.approx(decibel)
    # Neither scale nor a constant matters.
    assert metrics.si_sdr(speech, 0.3 - 4 * noisy) == pytest.approx(decibel)


def test_si_sdr_at_the_limits(speech):
    assert metrics.si_sdr(speech, 0 * speech) == -np.inf
    assert metrics.si_sdr([1.0, -1.0], [2.0, -2.0]) == np.inf


def test_stoi_and_pesq_are_those_of_the_packages(speech, noise):
    pesq = pytest.importorskip("pesq")
    pystoi = pytest.importorskip("pystoi")
    noisy = speech + 0.1 * noise
    assert metrics.stoi(speech, noisy) == pystoi.stoi(speech, noisy, 16000)
    assert metrics.pesq_wb(speech, noisy) == pytest.approx(
        pesq.pesq(16000, speech, noisy, "wb")
    )
    assert metrics.pesq_wb(speech, speech) > 4.6


@pytest.mark.parametrize("name", ["si_sdr", "stoi", "pesq_wb"])
def test_bad_signals(name, speech):
    metric = getattr(metrics, name)
    with pytest.raises(ValueError, match="`reference` must be audio of shape"):
        metric(speech[np.newaxis], speech)
    with pytest.raises(ValueError, match="`estimate` must be audio of shape"):
        metric(speech, [])
    with pytest.raises(ValueError, match="equally many samples"):
        metric(speech, speech[1:])
    with pytest.raises(ValueError, match="`estimate` must give finite"):
        metric(speech, speech * np.nan)
    with pytest.raises(ValueError, match="`reference` must not be silent"):
        metric(0 * speech, speech)


def test_where_a_metric_has_no_value(speech):
    with pytest.raises(ValueError, match="at least 384 ms of speech"):
        metrics.stoi(speech[:3000], speech[:3000])
    with pytest.raises(ValueError, match="at least 384 ms of speech"):
        metrics.stoi(speech[:100], speech[:100])
    with pytest.raises(ValueError, match="PESQ has no value .* 1/4 of a sec"):
        metrics.pesq_wb(speech[:3000], speech[:3000])
    with pytest.raises(ValueError, match="PESQ has no value"):
        metrics.pesq_wb(speech, 0 * speech)
    with pytest.raises(ValueError, match="`sample_rate` must be one of 16000"):
        metrics.pesq_wb(speech, speech, 8000)


def test_missing_package(monkeypatch, speech):
    monkeypatch.setitem(sys.modules, "pesq", None)
    with pytest.raises(ImportError, match=r"keras-duspar\[recipes\]"):
        metrics.pesq_wb(speech, speech)
    with pytest.raises(ImportError, match=r"keras-duspar\[recipes\]"):
        metrics.evaluate_enhancement([])
    assert optional_package("numpy") is np


def test_import_is_light():
    code = (
        "import sys, keras_duspar; "
        "print([m for m in ('tensorflow', 'pesq', 'pystoi')"
        " if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == "[]"


def pairs(speech, noise):
    return [
        ("good", speech, speech + 0.1 * noise),
        ("short", speech[:3000], speech[:3000] + noise[:3000]),
        ("silent", 0 * speech, noise),
        ("perfect", speech, speech),
        ("broken", speech, noise * np.nan),
        ("bad", speech, speech + noise),
    ]


def check_result(result, speech, noise):
    assert result["count"] == 6
    assert list(result["failed"]["pesq_wb"]) == ["short", "silent", "broken"]
    assert list(result["failed"]["stoi"]) == ["short", "silent", "broken"]
    assert list(result["failed"]["si_sdr"]) == ["silent", "perfect", "broken"]
    assert "1/4 of a second" in result["failed"]["pesq_wb"]["short"]
    names = [row["name"] for row in result["utterances"]]
    assert names == ["good", "short", "silent", "perfect", "broken", "bad"]
    scores = [
        metrics.pesq_wb(speech, speech + noise * scale) for scale in (0.1, 0, 1)
    ]
    assert result["pesq_wb"] == pytest.approx(np.mean(scores))
    assert result["utterances"][-1]["pesq_wb"] == pytest.approx(scores[-1])
    assert result["utterances"][1]["stoi"] is None


def test_evaluation_names_what_failed(speech, noise):
    pytest.importorskip("pesq")
    result = metrics.evaluate_enhancement(pairs(speech, noise), workers=1)
    check_result(result, speech, noise)


def test_evaluation_in_processes(speech, noise, capsys):
    pytest.importorskip("pesq")
    result = metrics.evaluate_enhancement(
        iter(pairs(speech, noise)), workers=2, verbose=1
    )
    check_result(result, speech, noise)
    assert "6" in capsys.readouterr().out


def test_evaluation_of_nothing():
    pytest.importorskip("pesq")
    result = metrics.evaluate_enhancement([], workers=1)
    assert result["count"] == 0
    assert result["pesq_wb"] is None


@pytest.mark.parametrize("workers", [1, 2])
def test_evaluation_of_unequal_pairs(speech, workers):
    pytest.importorskip("pesq")
    with pytest.raises(ValueError, match="utterance 'odd'"):
        metrics.evaluate_enhancement(
            [("odd", speech, speech[1:])], workers=workers
        )
    with pytest.raises(ValueError, match="`pairs` must be of"):
        metrics.evaluate_enhancement([(speech,)], workers=workers)


def test_bad_arguments():
    pytest.importorskip("pesq")
    with pytest.raises(ValueError, match="`workers` must be a positive"):
        metrics.evaluate_enhancement([], workers=0)
    with pytest.raises(ValueError, match="`sample_rate` must be one of"):
        metrics.evaluate_enhancement([], sample_rate=8000)
