"""Training: precision, compilation, dropout, regularizers."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_duspar
from tests import reference
from tests.helpers import CELLS
from tests.helpers import LAYERS
from tests.helpers import assert_close
from tests.helpers import to_numpy
from tests.helpers import weights_of
from tests.layers.common import BATCH
from tests.layers.common import EVERY_LAYER
from tests.layers.common import FEATURES
from tests.layers.common import MASK
from tests.layers.common import STEPS
from tests.layers.common import UNITS
from tests.layers.common import make


@EVERY_LAYER
@pytest.mark.parametrize(
    "policy, tolerance", [("mixed_float16", 0.03), ("mixed_bfloat16", 0.2)]
)
def test_mixed_precision(name, x, policy, tolerance):
    layer = make(name, return_sequences=True, return_state=True, dtype=policy)
    layer.build(x.shape)
    if name == "egru":  # the output jumps at a threshold, but not at zero
        layer.cell.threshold.assign(np.zeros(UNITS))
    output, *states = layer(x, mask=MASK)
    for tensor in (output, *states):
        dtype = keras.backend.standardize_dtype(tensor.dtype)
        assert dtype == policy.removeprefix("mixed_")
    assert {w.dtype for w in layer.weights} == {"float32"}
    if name == "dynamic_gru":  # a close tie may fall either way
        return
    options = {"theta": 0.04} if name == "delta_gru" else {}
    expected, _, _ = reference.run(
        name, weights_of(layer), x, mask=MASK, **options
    )
    difference = np.abs(to_numpy(ops.cast(output, "float32")) - expected)
    assert np.mean(difference) < tolerance / 3
    assert np.max(difference) < tolerance


@EVERY_LAYER
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision_trains(name, x, policy):
    model = keras.Sequential(
        [
            keras.Input((None, FEATURES)),
            make(name, dtype=policy),
            keras.layers.Dense(1, dtype="float32"),
        ]
    )
    model.compile("adam", "mse")
    before = model.get_weights()
    loss = model.train_on_batch(x, np.ones((BATCH, 1), "float32"))
    assert np.isfinite(loss)
    assert all(np.isfinite(w).all() for w in model.get_weights())
    assert any((a != b).any() for a, b in zip(before, model.get_weights()))


@EVERY_LAYER
def test_global_policy(name, x):
    """The cell follows the policy under which the layer was made."""
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        layer = make(name)
    finally:
        keras.config.set_dtype_policy(policy)
    assert layer.cell.compute_dtype == layer.compute_dtype == "bfloat16"
    assert keras.backend.standardize_dtype(layer(x).dtype) == "bfloat16"
    copy = LAYERS[name].from_config(layer.get_config())
    assert copy.cell.compute_dtype == "bfloat16"


@EVERY_LAYER
@pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="torch does not jit-compile"
)
def test_jit_compile(name, x):
    """Compiled and plain training take the same step."""
    y = np.ones((BATCH, UNITS), "float32")
    weights = []
    for jit in (True, False):
        keras.utils.set_random_seed(3)
        model = keras.Sequential([keras.Input((STEPS, FEATURES)), make(name)])
        model.compile("sgd", "mse", jit_compile=jit)
        model.train_on_batch(x, y)
        weights.append(model.get_weights())
    assert_close(*weights)


@EVERY_LAYER
def test_training_lowers_the_loss(name, rng):
    x = rng.normal(size=(64, 6, FEATURES)).astype("float32")
    y = x[:, :, :1].mean(axis=1)
    model = keras.Sequential(
        [keras.Input((6, FEATURES)), make(name), keras.layers.Dense(1)]
    )
    model.compile(keras.optimizers.Adam(0.02), "mse")
    history = model.fit(x, y, epochs=15, batch_size=32, verbose=0)
    losses = history.history["loss"]
    assert losses[-1] < 0.7 * losses[0]


@EVERY_LAYER
def test_dropout(name, x):
    """Off in inference, one mask for all steps, repeatable by its seed."""
    plain = make(name, x, return_sequences=True)
    layer = make(name, x, return_sequences=True, dropout=0.5, seed=2)
    assert_close(layer(x), plain(x), atol=0)
    layer = make(name, x, return_sequences=True, dropout=0.5, seed=2)
    dropped = to_numpy(layer(x, training=True))
    assert np.abs(dropped - to_numpy(plain(x))).max() > 1e-3
    again = make(name, x, return_sequences=True, dropout=0.5, seed=2)
    assert_close(again(x, training=True), dropped, atol=0)
    assert np.abs(to_numpy(again(x, training=True)) - dropped).max() > 1e-3


def test_dropout_mask_is_the_same_at_every_step():
    x = np.ones((BATCH, STEPS, FEATURES), "float32")
    layer = keras_duspar.MinGRU(
        FEATURES,
        dropout=0.5,
        return_sequences=True,
        seed=1,
        gate_bias_initializer=keras.initializers.Constant(50.0),
        kernel_initializer="identity",
    )
    output = to_numpy(layer(x, training=True))
    assert set(np.unique(output)) == {0.0, 2.0}
    assert (output == output[:, :1]).all()


@pytest.mark.parametrize(
    "name", ["duspar", "delta_gru", "dynamic_gru", "egru", "irnn", "ligru"]
)
def test_recurrent_dropout(name, x):
    plain = make(name, x)
    layer = make(name, x, recurrent_dropout=0.5, seed=2)
    assert_close(layer(x), plain(x), atol=0)
    dropped = to_numpy(layer(x, training=True))
    assert np.abs(dropped - to_numpy(plain(x))).max() > 1e-3


@EVERY_LAYER
def test_dropout_in_a_bare_rnn_trains(name, x):
    rnn = keras.layers.RNN(CELLS[name](UNITS, dropout=0.3, seed=1))
    model = keras.Sequential([keras.Input((STEPS, FEATURES)), rnn])
    model.compile("sgd", "mse")
    loss = model.train_on_batch(x, np.ones((BATCH, UNITS), "float32"))
    assert np.isfinite(loss)


@EVERY_LAYER
def test_regularizers_and_constraints(name, x):
    layer = make(
        name,
        kernel_regularizer=keras.regularizers.L1(1.0),
        kernel_constraint="non_neg",
    )
    layer.build(x.shape)
    expected = sum(
        np.abs(value).sum()
        for key, value in weights_of(layer).items()
        if key.endswith("kernel") and not key.endswith("recurrent_kernel")
    )
    assert_close(sum(layer.losses), np.array(expected), rtol=1e-5)
    model = keras.Sequential([keras.Input((STEPS, FEATURES)), layer])
    model.compile("sgd", "mse")
    model.train_on_batch(x, np.ones((BATCH, UNITS), "float32"))
    for key, value in weights_of(layer).items():
        if key.endswith("kernel") and not key.endswith("recurrent_kernel"):
            assert (value >= 0).all()


@EVERY_LAYER
def test_activity_regularizer(name, x):
    layer = make(name, activity_regularizer=keras.regularizers.L2(1.0))
    output = to_numpy(layer(x))
    expected = (output**2).sum() / BATCH
    assert_close(sum(layer.losses), np.array(expected), rtol=1e-5)


@EVERY_LAYER
def test_freezing(name, x):
    layer = make(name, x)
    assert layer.trainable_weights
    layer.trainable = False
    assert not layer.trainable_weights
    assert not make(name, trainable=False).trainable_weights


@EVERY_LAYER
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_stateful_in_mixed_precision(name, x, policy):
    """States are kept in float32 between the calls."""
    layer = make(name, stateful=True, dtype=policy)
    whole = make(name, dtype=policy)
    layer.build(x.shape)
    whole.build(x.shape)
    whole.set_weights(layer.get_weights())
    layer(x[:, :3])
    assert {state.dtype for state in layer.states} == {"float32"}
    second = layer(x[:, 3:])
    assert_close(
        ops.cast(second, "float32"), ops.cast(whole(x), "float32"), atol=1e-6
    )
