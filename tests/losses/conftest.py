"""What the tests of the losses share."""

import csv

import keras
import numpy as np
import pytest


@pytest.fixture
def gradient():
    """A function for the gradient of a scalar function of one array.

    Raises if the function's value is not finite but should be.
    """

    def compute(function, x, finite=True):
        backend = keras.backend.backend()
        x = keras.ops.convert_to_tensor(x, dtype=str(x.dtype))
        if backend == "tensorflow":
            import tensorflow as tf

            with tf.GradientTape() as tape:
                tape.watch(x)
                value = function(x)
            result = tape.gradient(value, x)
        elif backend == "jax":
            import jax

            # One compilation rather than one of every operation.
            value, result = jax.jit(jax.value_and_grad(function))(x)
        else:
            x = x.detach().requires_grad_()
            value = function(x)
            value.backward()
            result = x.grad
        value = keras.ops.convert_to_numpy(value)
        if finite and not np.isfinite(value):
            raise ValueError("The value is not finite.")
        return keras.ops.convert_to_numpy(result)

    return compute


@pytest.fixture
def evaluate():
    """A function for the value of a loss, as an array."""

    def compute(loss, y_true, y_pred):
        call = loss
        if keras.backend.backend() == "jax":
            import jax

            # One compilation rather than one of every operation.
            call = jax.jit(lambda *signals: loss(*signals))
        y_true = np.asarray(y_true, "float32")
        y_pred = np.asarray(y_pred, "float32")
        return keras.ops.convert_to_numpy(call(y_true, y_pred))

    return compute


@pytest.fixture
def check_slope(gradient, speech_like):
    """A function that compares gradients with differences of a reference."""

    def check(loss, reference, pair, step, rtol):
        clean, noisy = pair
        slope = gradient(
            lambda x: keras.ops.sum(loss(clean, x)), noisy.astype("float32")
        )
        way = speech_like(2) * step
        for i in range(2):
            up = reference(clean[i], noisy[i] + way[i])
            down = reference(clean[i], noisy[i] - way[i])
            np.testing.assert_allclose(
                np.dot(slope[i], way[i]), (up - down) / 2, rtol=rtol
            )

    return check


@pytest.fixture(scope="session")
def mixtures(speech_data):
    """Sixty real mixtures `(clean, noisy)` at SNRs from 0 to 15 dB."""
    soundfile = pytest.importorskip("soundfile")
    folder = speech_data / "se"
    with open(folder / "mix_val.csv", newline="") as file:
        rows = list(csv.DictReader(file))[:60]
    pairs = []
    for row in rows:
        clean, _ = soundfile.read(folder / row["clean"])
        noise, _ = soundfile.read(folder / row["noise"])
        start = int(row["noise_offset_samples"])
        noise = np.take(noise, range(start, start + len(clean)), mode="wrap")
        ratio = 10 ** (float(row["snr_db"]) / 10)
        noise *= np.sqrt(np.mean(clean**2) / np.mean(noise**2) / ratio)
        pairs.append((clean, clean + noise))
    return pairs


@pytest.fixture
def speech_like():
    """A function for noise in bursts, with silence between them."""

    def make(seed, samples=8000, batch=2):
        random = np.random.default_rng(seed)
        audio = random.normal(size=(batch, samples)) * 0.1
        audio += np.roll(audio, 1, axis=1) + np.roll(audio, 2, axis=1)
        bursts = np.sin(2 * np.pi * 3 * np.arange(samples) / 16000)
        return audio * np.clip(bursts + 0.7, 1e-5, None)

    return make
