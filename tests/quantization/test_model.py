"""Quantized models: training, ranges, files, and back."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_duspar
from keras_duspar import quantization
from keras_duspar.quantization.model import quantized_layers
from tests.helpers import LAYERS
from tests.helpers import NAMES
from tests.helpers import assert_close
from tests.helpers import randomize


def sequential(*layers, features=6):
    model = keras.Sequential([keras.Input((None, features)), *layers])
    randomize(model, 0.5)
    return model


def ranges(model):
    return {
        f"{path}/{name}": float(ops.convert_to_numpy(value))
        for path, layer in quantized_layers(model).items()
        for name, value in layer.quantizer.ranges.items()
    }


@pytest.fixture
def x(rng):
    return rng.normal(size=(8, 7, 6)).astype("float32")


@pytest.fixture
def targets(rng):
    return rng.normal(size=(8, 3)).astype("float32")


@pytest.fixture
def all_layers():
    """A model with a layer over every cell of the package."""
    inputs = keras.Input((None, 6))
    outputs = [LAYERS[name](5, name=name)(inputs) for name in NAMES]
    outputs = keras.layers.Dense(3)(keras.layers.Concatenate()(outputs))
    model = keras.Model(inputs, outputs)
    randomize(model, 0.3)
    return model


def test_every_layer(all_layers, x, targets, tmp_path):
    """Trained, saved and loaded; ranges move, then stand still."""
    quantized = keras_duspar.quantize(all_layers)
    before = ops.convert_to_numpy(all_layers(x))
    assert_close(quantized(x), before, atol=0.03)
    assert not np.array_equal(ops.convert_to_numpy(quantized(x)), before)
    assert set(ranges(quantized).values()) == {0.0}
    quantized.compile(keras.optimizers.Adam(0.01), "mse")
    first = quantized.train_on_batch(x, targets)
    seen = ranges(quantized)
    assert len(seen) == 14 and min(seen.values()) > 0
    assert seen["duspar/cell/feedforward/x"] <= np.abs(x).max() * 2
    assert seen["mingru/cell/x"] == pytest.approx(np.abs(x).max(), rel=1e-6)
    quantized.train_on_batch(2 * x, targets)
    assert ranges(quantized)["mingru/cell/x"] == pytest.approx(
        1.02 * np.abs(x).max(), rel=1e-5
    )
    quantization.freeze(quantized)
    moved = ranges(quantized)
    for _ in range(3):
        last = quantized.train_on_batch(3 * x, targets)
    assert ranges(quantized) == moved
    assert np.isfinite(last) and np.isfinite(first)
    quantized.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert ranges(loaded) == moved
    assert_close(loaded(x), quantized(x), atol=1e-6)
    loaded.train_on_batch(x, targets)  # still frozen
    assert ranges(loaded) == moved


def test_training_goes_down(x):
    model = keras_duspar.quantize(
        sequential(keras_duspar.DuSpaR(8), keras.layers.Dense(1))
    )
    model.compile(keras.optimizers.Adam(0.02), "mse")
    target = x[:, -1, :1] - x[:, 0, 1:2]
    history = model.fit(x, target, epochs=25, batch_size=8, verbose=0)
    assert history.history["loss"][-1] < 0.3 * history.history["loss"][0]


def test_what_is_rounded(x):
    """Against the same layer with weights that were rounded by hand."""
    model = sequential(keras_duspar.DuSpaR(5, return_sequences=True))
    for scheme, tolerance in (("bfloat16", 1e-6), ("int4w", 1e-5)):
        quantized = keras_duspar.quantize(model, scheme)
        plain = quantization.dequantize(quantized)
        assert type(plain.layers[0]) is keras_duspar.DuSpaR
        assert plain.layers[0].quantization is None
        assert_close(plain(x), quantized(x), atol=tolerance)
        kept = quantization.dequantize(quantized, rounded=False)
        assert_close(kept(x), model(x), atol=0)
    kernel = plain.layers[0].cell.feedforward.gate_kernel
    columns = ops.convert_to_numpy(kernel).T
    assert max(len(np.unique(np.abs(c).round(5))) for c in columns) <= 8


def test_calibration(x):
    model = sequential(
        keras_duspar.SpaR(5, return_sequences=True), keras.layers.Dense(3)
    )
    quantized = keras_duspar.quantize(model)
    quantization.calibrate(quantized, x, batch_size=4)
    largest = [np.maximum(x[i : i + 4], 0).max() for i in (0, 4)]
    (found,) = ranges(quantized).values()
    assert found == pytest.approx(np.mean(largest), rel=1e-6)
    assert_close(quantized(x), model(x), atol=0.05)
    profiles = [keras_duspar.profile(m, x) for m in (model, quantized)]
    # What rounds to zero is skipped, and nothing else is new.
    assert profiles[1].occupancy <= profiles[0].occupancy
    assert profiles[1].occupancy > profiles[0].occupancy - 0.05
    assert profiles[1].params == profiles[0].params


def test_profile_counts_rounded_zeros(x):
    model = sequential(keras_duspar.SpaR(5))
    quantized = keras_duspar.quantize(model)
    quantized.layers[0].cell.quantizer.ranges["x"].assign(255.0)  # scale 1
    found = keras_duspar.profile(quantized, x).layers[0]
    assert found.occupancies["x"] == pytest.approx((np.rint(x) > 0).mean())


def test_masks_and_states(x):
    """Masked steps are not observed; a stateful layer goes on."""
    mask = np.ones((8, 7), bool)
    mask[:, 4:] = False
    x[:, 4:] *= 10
    inputs, masks = keras.Input((7, 6)), keras.Input((7,), dtype="bool")
    outputs = keras_duspar.SpaR(4)(inputs, mask=masks)
    model = keras_duspar.quantize(keras.Model([inputs, masks], outputs))
    model.compile("sgd", "mse")
    model.train_on_batch([x, mask], np.zeros((8, 4)))
    (found,) = ranges(model).values()
    assert found == pytest.approx(x[:, :4].max(), rel=1e-6)

    layer = keras_duspar.DuSpaR(4, stateful=True, quantization="int8")
    whole = layer(x)
    layer.reset_state()
    layer(x[:, :3])
    assert_close(layer(x[:, 3:]), whole, atol=1e-6)
    layer.reset_state()
    assert_close(layer(x, training=True), whole, atol=1e-5)


def test_parallel_equals_the_loop(x):
    layers = [
        keras_duspar.SpaR(
            4, return_sequences=True, parallel=p, quantization="int8"
        )
        for p in (False, True)
    ]
    for layer in layers:
        layer.build(x.shape)
    layers[1].set_weights(layers[0].get_weights())
    first, second = (layer(x, training=True) for layer in layers)
    assert_close(first, second, atol=1e-5)
    values = [float(layer.cell.quantizer.ranges["x"]) for layer in layers]
    assert values[0] == values[1] > 0
    assert_close(layers[0](x), layers[1](x), atol=1e-5)


def test_dropout(x, targets):
    model = sequential(
        keras_duspar.DuSpaR(5, dropout=0.5, recurrent_dropout=0.2, seed=1),
        keras.layers.Dense(3),
    )
    model = keras_duspar.quantize(model)
    model.compile("sgd", "mse")
    assert np.isfinite(model.train_on_batch(x, targets))


def test_states_of_integers(x):
    model = sequential(keras_duspar.DuSpaR(5, return_sequences=True))
    errors = []
    for states in ("int16", "int8"):
        scheme = keras_duspar.QuantScheme("float32", "float32", states)
        quantized = keras_duspar.quantize(model, scheme)
        quantization.calibrate(quantized, x)
        assert len(ranges(quantized)) == 2
        change = ops.convert_to_numpy(quantized(x) - model(x))
        errors.append(np.abs(change).max())
    assert 0 < errors[0] < 1e-3 < errors[1] < 0.05


def test_any_depth(x):
    """Wrappers, nested models, bare and stacked cells."""
    inner = sequential(
        keras_duspar.SpaR(4, return_sequences=True),
        keras.layers.TimeDistributed(keras.layers.Dense(5)),
    )
    cells = [keras_duspar.DuSpaRCell(3), keras_duspar.SpaRCell(2)]
    model = sequential(
        keras.layers.Bidirectional(
            keras_duspar.DuSpaR(3, return_sequences=True), name="both"
        ),
        inner,
        keras.layers.RNN(keras_duspar.SpaRCell(4), return_sequences=True),
        keras.layers.RNN(cells, name="stack"),
    )
    quantized = keras_duspar.quantize(model)
    assert len(quantized_layers(quantized)) == 13
    quantization.calibrate(quantized, x)
    assert len(ranges(quantized)) == 4 + 1 + 1 + 3
    assert_close(quantized(x), model(x), atol=0.03)
    back = quantization.dequantize(quantized)
    assert not quantized_layers(back)
    assert_close(back(x), quantized(x), atol=0.03)
    quantized.compile("sgd", "mse")
    before = ranges(quantized)
    quantized.train_on_batch(2 * x, np.zeros((8, 2)))
    assert all(
        a != b for a, b in zip(before.values(), ranges(quantized).values())
    )


@pytest.mark.any_backend
def test_front_end():
    model = keras_duspar.models.keyword_spotter("duspar", 8, num_classes=3)
    for scheme, error in (
        ("int8", 0.005),
        ("int4w", 0.005),
        ("bfloat16", 0.004),
    ):
        front = keras_duspar.quantize(model, scheme).get_layer("log_mel")
        plain = model.get_layer("log_mel").filters
        assert 0 < np.abs(front.filters - plain).max() < error * plain.max()
        np.testing.assert_array_equal(front.filters[plain == 0], 0)
        copy = type(front).from_config(front.get_config())
        np.testing.assert_array_equal(copy.filters, front.filters)


@pytest.mark.any_backend
def test_summary_and_comparison(x):
    model = sequential(
        keras_duspar.DuSpaR(5, return_sequences=True, name="recurrent"),
        keras.layers.Dense(3, name="dense"),
    )
    quantized = keras_duspar.quantize(model, "int4w")
    found = quantization.summary(quantized)
    kernels = {t.name: t for t in found.tensors}
    error = kernels["recurrent/cell/feedback/gate_kernel"].error
    assert len(kernels) == 5 and 0.02 < error < 0.2
    assert "dense/kernel" in str(found)
    comparison = quantization.compare(model, quantized, x)
    a, b = (ops.convert_to_numpy(m(x)) for m in (model, quantized))
    expected = np.linalg.norm(a - b) / np.linalg.norm(a)
    assert comparison.outputs == pytest.approx({"dense": expected}, rel=1e-4)
    same = (a.argmax(-1) == b.argmax(-1)).mean()
    assert comparison.agreement == pytest.approx({"dense": same})
    assert set(comparison.layers) == {"recurrent", "dense"}
    worst = list(comparison.layers.values())
    assert worst == sorted(worst, reverse=True)
    assert "recurrent" in str(comparison)


@pytest.mark.any_backend
def test_layers_that_stay_float(x):
    model = sequential(
        keras.layers.GRU(4, return_sequences=True, name="gru"),
        keras_duspar.SpaR(3, return_sequences=True, name="spar"),
        keras.layers.Dense(2, name="dense"),
    )
    with pytest.warns(UserWarning, match="not quantized.*gru/.*DynamicGRU"):
        found = quantized_layers(keras_duspar.quantize(model))
    assert set(found) == {"spar/cell", "dense"}
    skipped = keras_duspar.quantize(model, skip=["gru", "dense"])
    assert set(quantized_layers(skipped)) == {"spar/cell"}
    assert type(skipped.get_layer("dense")) is keras.layers.Dense
