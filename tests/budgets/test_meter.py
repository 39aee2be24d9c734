"""The gradient of occupancy, against differences of a NumPy computation."""

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar.budgets.meters import Meters
from keras_duspar.layers import native_loop
from tests import reference
from tests.helpers import LAYERS
from tests.helpers import randomize
from tests.helpers import to_numpy
from tests.helpers import weights_of

BATCH, STEPS, FEATURES, UNITS = 3, 6, 5, 7
WIDTH = 0.3
MASK = np.arange(STEPS) < np.array([[6], [2], [4]])


def margins(name, w, x, states, output, new_states):
    """What decides on zeros, from the equations of the papers."""
    if name == "spar":
        return {"x": x}
    if name == "duspar":
        return {"e": x - states[1] - w["feedback_bias"], "y": output}
    if name == "delta_gru":
        h, x_hat, h_hat = states
        return {
            "dx": abs(x - x_hat) / 0.04 - 1,
            "dh": abs(h - h_hat) / 0.04 - 1,
        }
    c = np.where(output > 0, new_states[1] + w["threshold"], new_states[1])
    return {"y": c - w["threshold"]}


def penalty(name, w, x, mask, shares):
    """The part of the model's occupancy with sigmoids for steps."""
    total, valid = 0.0, mask.sum()
    for row, held in zip(x, mask):
        states = reference.zero_states(name, 1, FEATURES, UNITS)
        for at in row[held]:
            before = states
            output, states, _ = reference.STEPS[name](w, at[None], states)
            found = margins(name, w, at[None], before, output, states)
            total += sum(
                shares[k] * np.mean(1 / (1 + np.exp(-m / WIDTH)))
                for k, m in found.items()
            )
    return total / valid


def sequences():
    return np.random.default_rng(5).normal(size=(BATCH, STEPS, FEATURES))


def model_of(name, masked=False, **options):
    inputs = keras.Input((None, FEATURES))
    layer = LAYERS[name](UNITS, name="layer", **options)
    if masked:
        mask = keras.Input((None,), dtype="bool")
        model = keras.Model([inputs, mask], layer(inputs, mask=mask))
    else:
        model = keras.Model(inputs, layer(inputs))
    randomize(layer)
    return model, layer


def gradients(model, x, weight=1.0):
    """Gradients of the penalty alone, by a step of gradient descent."""
    meters = Meters(model, WIDTH)
    meters.set_weight(weight)
    model.compile(
        keras.optimizers.SGD(1.0),
        lambda target, output: 0 * keras.ops.mean(output),
    )
    before = [to_numpy(w.value) * 1.0 for w in model.trainable_weights]
    loss = model.train_on_batch(x, np.zeros((BATCH, UNITS)))
    assert loss == 0, "losses are shown without the penalty"
    found = {
        w.path.split("/cell/")[-1]: old - to_numpy(w.value)
        for w, old in zip(model.trainable_weights, before)
    }
    return meters, found


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", ["duspar", "spar", "delta_gru", "egru"])
def test_gradients_are_those_of_sigmoids(name, masked):
    model, layer = model_of(name, masked)
    if name == "egru":
        # Differences do not see the surrogate of events: there are none.
        layer.cell.surrogate_height = 0.0
        layer.cell.threshold.constraint = None
        layer.cell.threshold.assign(np.full(UNITS, 0.999))
    w, x = weights_of(layer), sequences()
    mask = MASK if masked else np.ones((BATCH, STEPS), bool)
    given = [x, mask] if masked else x
    meters, found = gradients(model, given)
    shares = meters.meters[0].shares
    assert sum(shares.values()) == pytest.approx(1 - meters.fixed)
    rng = np.random.default_rng(2)
    for key, gradient in found.items():
        scale = max(np.abs(gradient).max(), 1e-3)
        for place in rng.integers(0, gradient.size, 3):
            at = np.unravel_index(place, gradient.shape)
            values = []
            for change in (1e-6, -1e-6):
                moved = {**w, key: w[key].copy()}
                moved[key][at] += change
                values.append(penalty(name, moved, x, mask, shares))
            expected = (values[0] - values[1]) / 2e-6
            assert abs(gradient[at] - expected) < 2e-4 * scale, (key, at)
    largest = max(np.abs(gradient).max() for gradient in found.values())
    assert largest > 0.01 or name == "spar"


def test_spar_alone_has_no_gradient_but_for_its_input():
    model, _ = model_of("spar")
    _, found = gradients(model, sequences())
    assert all((g == 0).all() for g in found.values())


@pytest.mark.parametrize("chunk", [0, 2])
@pytest.mark.parametrize("backwards", [False, True])
def test_native_passes_have_the_same_gradients(chunk, backwards, monkeypatch):
    if native_loop.missing():
        pytest.skip(native_loop.missing())
    monkeypatch.setenv("KERAS_DUSPAR_TRAINING_CHUNK", str(chunk))
    found, read = [], []
    for implementation in ("keras", "native"):
        inputs = keras.Input((None, FEATURES))
        options = {"implementation": implementation, "go_backwards": backwards}
        first = keras_duspar.DuSpaR(9, return_sequences=True, **options)
        second = keras_duspar.SpaR(UNITS, **options)
        model = keras.Model(inputs, second(first(inputs)))
        randomize(first)
        randomize(second, seed=8)
        meters, gradient = gradients(model, sequences(), weight=50.0)
        found.append(gradient)
        read.append(meters.occupancy)
    assert read[0] == pytest.approx(read[1], abs=1e-7)
    for (key, value), other in zip(found[1].items(), found[0].values()):
        scale = max(np.abs(other).max(), 0.1)
        assert np.abs(value - other).max() <= 1e-5 * scale, key
    assert max(np.abs(g).max() for g in found[0].values()) > 0.1


def test_reading_alone_changes_no_bit():
    """Without the callback, and with a price of nothing in native passes."""
    if native_loop.missing():
        pytest.skip(native_loop.missing())
    x, y = sequences(), np.ones((BATCH, UNITS))
    ends = []
    for kind in ("plain", "removed", "read"):
        model, _ = model_of("duspar", implementation="native")
        if kind != "plain":
            meters = Meters(model, WIDTH)
            meters.set_weight(0.0 if kind == "read" else 5.0)
        if kind == "removed":
            meters.remove()
        model.compile(keras.optimizers.SGD(0.5), "mse")
        for _ in range(3):
            model.train_on_batch(x, y)
        ends.append([to_numpy(w.value) for w in model.trainable_weights])
    for end in ends[1:]:
        for array, other in zip(end, ends[0], strict=True):
            np.testing.assert_array_equal(array, other)


def test_scan_is_read_as_the_loop():
    found = []
    for parallel in (False, True):
        inputs = keras.Input((STEPS, FEATURES))
        mask = keras.Input((STEPS,), dtype="bool")
        dense = keras.layers.Dense(FEATURES)
        layer = keras_duspar.SpaR(
            UNITS, parallel=parallel, implementation="keras"
        )
        model = keras.Model([inputs, mask], layer(dense(inputs), mask=mask))
        randomize(dense)
        randomize(layer)
        found.append(gradients(model, [sequences(), MASK]))
    (loop, expected), (scan, gradient) = found
    assert scan.occupancy == pytest.approx(loop.occupancy, abs=1e-6)
    for (key, value), other in zip(gradient.items(), expected.values()):
        np.testing.assert_allclose(value, other, atol=1e-6, err_msg=key)
    assert max(np.abs(value).max() for value in gradient.values()) > 1e-3


@pytest.mark.parametrize("scheme", [None, "int8"])
@pytest.mark.parametrize("name", ["duspar", "spar", "delta_gru", "egru"])
def test_occupancy_is_that_of_the_profile(name, scheme):
    model, _ = model_of(name)
    x = sequences().astype("float32")
    if scheme:
        model = keras_duspar.quantize(model, scheme)
        keras_duspar.quantization.calibrate(model, x)
        keras_duspar.quantization.freeze(model)
    expected = keras_duspar.profile(model, x).occupancy
    meters, _ = gradients(model, x)
    # EGRU counts the events of a step, which the next one reads.
    atol = 0.1 if name == "egru" and scheme is None else 1e-6
    assert meters.occupancy == pytest.approx(expected, abs=atol)
    assert 0.05 < expected < 0.95


def test_meters_are_no_weights(tmp_path):
    model, layer = model_of("duspar")
    before = len(model.variables)
    meters = Meters(model, WIDTH)
    assert len(model.variables) == before + 2
    assert len(model.weights) == before
    model.save(tmp_path / "m.keras")
    meters.remove()
    assert len(model.variables) == before
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert len(loaded.variables) == before and layer.meter is None
