"""Everything that users of `keras.layers.RNN` rely on, for every layer."""

import inspect
import itertools

import keras
import numpy as np
import pytest
from keras import ops

import keras_duspar
from tests import reference
from tests.helpers import CELLS
from tests.helpers import LAYERS
from tests.helpers import NAMES
from tests.helpers import assert_close
from tests.helpers import randomize
from tests.helpers import to_numpy
from tests.helpers import weights_of

FEATURES, UNITS, BATCH, STEPS = 4, 5, 3, 7
EVERY_LAYER = pytest.mark.parametrize("name", NAMES)

# Masked steps at the start, in the middle and at the end.
MASK = np.array(
    [
        [1, 1, 0, 1, 0, 0, 1],
        [1, 1, 1, 1, 1, 1, 1],
        [0, 0, 1, 1, 0, 1, 0],
    ],
    bool,
)


@pytest.fixture
def x(rng):
    return rng.normal(size=(BATCH, STEPS, FEATURES)).astype("float32")


def make(kind, x=None, **kwargs):
    layer = LAYERS[kind](UNITS, **kwargs)
    if x is not None:
        layer.build(x.shape)
        randomize(layer)
    return layer


def random_states(name, rng):
    states = reference.zero_states(name, BATCH, FEATURES, UNITS)
    return [rng.normal(size=s.shape).astype("float32") for s in states]


@EVERY_LAYER
def test_equals_reference(name, x):
    layer = make(name, x, return_sequences=True, return_state=True)
    output, *states = layer(x)
    expected, expected_states, _ = reference.run(name, weights_of(layer), x)
    assert_close([output, *states], [expected, *expected_states])


@EVERY_LAYER
def test_last_output(name, x):
    layer = make(name, x)
    expected, _, _ = reference.run(name, weights_of(layer), x)
    assert_close(layer(x), expected[:, -1])
    assert layer.compute_output_shape(x.shape) == (BATCH, UNITS)


@EVERY_LAYER
def test_one_step(name, x):
    layer = make(name, x, return_sequences=True)
    expected, _, _ = reference.run(name, weights_of(layer), x[:, :1])
    assert_close(layer(x[:, :1]), expected)


@EVERY_LAYER
def test_initial_state(name, x, rng):
    layer = make(name, x, return_sequences=True, return_state=True)
    states = random_states(name, rng)
    output, *final = layer(x, initial_state=states)
    expected, expected_final, _ = reference.run(
        name, weights_of(layer), x, states
    )
    assert_close([output, *final], [expected, *expected_final])


@EVERY_LAYER
def test_stream_equals_batch(name, x):
    layer = make(name, x, return_sequences=True, return_state=True)
    whole, *final = layer(x)
    states, parts = None, []
    for t in range(STEPS):
        part, *states = layer(x[:, t : t + 1], initial_state=states)
        parts.append(part)
    assert_close(ops.concatenate(parts, axis=1), whole, atol=1e-6)
    assert_close(states, final, atol=1e-6)


@EVERY_LAYER
def test_stateful(name, x):
    layer = make(name, x, return_sequences=True, stateful=True)
    expected, _, _ = reference.run(name, weights_of(layer), x)
    for _ in range(2):
        layer.reset_state()
        first, second = layer(x[:, :3]), layer(x[:, 3:])
        assert_close(ops.concatenate([first, second], axis=1), expected)


@EVERY_LAYER
def test_stateful_with_mask_trains(name, x):
    """States that are overwritten must not spoil the gradients."""
    inputs = keras.Input(batch_shape=x.shape)
    layer = make(name, stateful=True)
    model = keras.Model(inputs, layer(inputs, mask=MASK))
    model.compile("sgd", "mse")
    for _ in range(2):
        loss = model.train_on_batch(x, np.ones((BATCH, UNITS), "float32"))
    assert np.isfinite(loss)


@pytest.mark.parametrize(
    "backwards, unroll, zero_output",
    itertools.product([False, True], repeat=3),
)
@EVERY_LAYER
def test_masking(name, x, rng, backwards, unroll, zero_output):
    layer = make(
        name,
        x,
        return_sequences=True,
        return_state=True,
        go_backwards=backwards,
        unroll=unroll,
        zero_output_for_mask=zero_output,
    )
    states = random_states(name, rng) if backwards == unroll else None
    output, *final = layer(x, initial_state=states, mask=MASK)
    order = slice(None, None, -1) if backwards else slice(None)
    expected, expected_final, _ = reference.run(
        name,
        weights_of(layer),
        x[:, order],
        states,
        mask=MASK[:, order],
        zero_output=zero_output,
    )
    assert_close([output, *final], [expected, *expected_final])


@EVERY_LAYER
def test_masking_of_last_output(name, x):
    layer = make(name, x)
    expected, _, _ = reference.run(name, weights_of(layer), x, mask=MASK)
    assert_close(layer(x, mask=MASK), expected[:, -1])


@EVERY_LAYER
def test_masking_layer(name, x):
    """Masks also come from `keras.layers.Masking`, and are passed on."""
    x[~MASK] = 0
    model = keras.Sequential(
        [
            keras.Input((STEPS, FEATURES)),
            keras.layers.Masking(),
            make(name, return_sequences=True),
            make(name),
        ]
    )
    first, second = model.layers[1:]
    hidden, _, _ = reference.run(name, weights_of(first), x, mask=MASK)
    expected, _, _ = reference.run(name, weights_of(second), hidden, mask=MASK)
    assert_close(model(x), expected[:, -1])


@EVERY_LAYER
@pytest.mark.parametrize("unroll", [False, True])
def test_go_backwards(name, x, unroll):
    layer = make(
        name, x, return_sequences=True, go_backwards=True, unroll=unroll
    )
    expected, _, _ = reference.run(name, weights_of(layer), x[:, ::-1])
    assert_close(layer(x), expected)


@EVERY_LAYER
def test_bidirectional(name, x):
    layer = keras.layers.Bidirectional(
        make(name, return_sequences=True, return_state=True)
    )
    output, *states = layer(x)
    forward, backward = layer.forward_layer, layer.backward_layer
    there, states_there, _ = reference.run(name, weights_of(forward), x)
    back, states_back, _ = reference.run(name, weights_of(backward), x[:, ::-1])
    expected = np.concatenate([there, back[:, ::-1]], axis=-1)
    assert_close([output, *states], [expected, *states_there, *states_back])
    model = keras.Sequential(
        [keras.Input((None, FEATURES)), keras.layers.Bidirectional(make(name))]
    )
    assert model(x).shape == (BATCH, 2 * UNITS)


@EVERY_LAYER
def test_stacked_cells(name, x):
    cells = [CELLS[name](UNITS), CELLS[name](6)]
    inputs = keras.Input((None, FEATURES))
    outputs = keras.layers.RNN(
        keras.layers.StackedRNNCells(cells),
        return_sequences=True,
        return_state=True,
    )(inputs)
    model = keras.Model(inputs, outputs)
    hidden, states_1, _ = reference.run(name, weights_of(cells[0]), x)
    expected, states_2, _ = reference.run(name, weights_of(cells[1]), hidden)
    assert_close(model(x), [expected, states_1, states_2])
    for symbolic, actual in zip(
        keras.tree.flatten(outputs), keras.tree.flatten(model(x))
    ):
        assert tuple(symbolic.shape)[1:] == tuple(actual.shape)[1:] or (
            symbolic.shape[1] is None
        )


@EVERY_LAYER
def test_bare_cell(name, x):
    """A cell in `keras.layers.RNN` is the layer, also symbolically."""
    layer = make(name, x, return_sequences=True, return_state=True)
    inputs = keras.Input((None, FEATURES))
    rnn = keras.layers.RNN(
        CELLS[name](UNITS), return_sequences=True, return_state=True
    )
    outputs = rnn(inputs)
    assert [tuple(o.shape) for o in outputs[1:]] == [
        (None, s) for s in layer.cell.state_size
    ]
    rnn.set_weights(layer.get_weights())
    assert_close(keras.Model(inputs, outputs)(x), layer(x), atol=1e-6)


@EVERY_LAYER
def test_time_distributed(name, x):
    chunks = np.stack([x, 2 * x], axis=1)
    layer = keras.layers.TimeDistributed(make(name))
    output = layer(chunks)
    weights = weights_of(layer.layer)
    expected = [
        reference.run(name, weights, chunks[:, i])[0][:, -1] for i in (0, 1)
    ]
    assert_close(output, np.stack(expected, axis=1))
    model = keras.Sequential(
        [
            keras.Input((STEPS, FEATURES)),
            make(name, return_sequences=True),
            keras.layers.TimeDistributed(keras.layers.Dense(2)),
        ]
    )
    assert model(x).shape == (BATCH, STEPS, 2)


@EVERY_LAYER
@pytest.mark.parametrize(
    "policy, tolerance", [("mixed_float16", 0.03), ("mixed_bfloat16", 0.2)]
)
def test_mixed_precision(name, x, policy, tolerance):
    layer = make(name, return_sequences=True, return_state=True, dtype=policy)
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
def test_save_and_load(name, x, tmp_path):
    inputs = keras.Input((None, FEATURES))
    hidden = make(name, return_sequences=True, name="one")(inputs)
    hidden = keras.layers.Bidirectional(make(name, return_sequences=True))(
        hidden
    )
    outputs = keras.layers.RNN(CELLS[name](3), return_state=True)(hidden)
    model = keras.Model(inputs, outputs)
    randomize(model)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded.get_layer("one")) is LAYERS[name]
    assert_close(loaded(x), model(x), atol=1e-6)


@EVERY_LAYER
def test_weights_file(name, x, tmp_path):
    model = keras.Sequential([keras.Input((None, FEATURES)), make(name)])
    randomize(model)
    model.save_weights(tmp_path / "model.weights.h5")
    copy = keras.models.clone_model(model)
    assert np.abs(to_numpy(copy(x) - model(x))).max() > 1e-3
    copy.load_weights(tmp_path / "model.weights.h5")
    assert_close(copy(x), model(x), atol=1e-6)


@EVERY_LAYER
def test_config_round_trip(name):
    cell_arguments = {p.name for p in CELLS[name].arguments}
    own = {"theta": 0.1, "update_ratio": 0.25, "recurrent_dropout": 0.2}
    layer = make(
        name,
        kernel_initializer=keras.initializers.HeNormal(seed=3),
        kernel_regularizer="l2",
        dropout=0.1,
        seed=4,
        return_sequences=True,
        go_backwards=True,
        zero_output_for_mask=True,
        activity_regularizer="l1",
        name="my_layer",
        **{k: v for k, v in own.items() if k in cell_arguments},
    )
    config = layer.get_config()
    copy = LAYERS[name].from_config(config)
    assert copy.get_config() == config
    for parameter in inspect.signature(LAYERS[name]).parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            assert parameter.name in config
            assert getattr(copy, parameter.name, None) is not None or (
                config[parameter.name] is None
            )


@EVERY_LAYER
def test_unknown_batch_and_time(name, x):
    inputs = keras.Input((None, FEATURES))
    layer = make(name, return_sequences=True)
    model = keras.Model(inputs, layer(inputs))
    assert model.output_shape == (None, None, UNITS)
    weights = weights_of(layer)
    for some in (x, x[:1, :2], x[:2, :1]):
        expected, _, _ = reference.run(name, weights, some)
        assert_close(model.predict_on_batch(some), expected)


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
    "name", ["duspar", "delta_gru", "dynamic_gru", "irnn", "ligru"]
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


# The parallel form


@pytest.mark.parametrize("name", ["spar", "mingru"])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("zero_output", [False, True])
@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize("with_states", [False, True])
def test_parallel_equals_loop(
    name, x, rng, backwards, zero_output, mask, with_states
):
    options = {
        "return_sequences": True,
        "return_state": True,
        "go_backwards": backwards,
        "zero_output_for_mask": zero_output,
    }
    loop = make(name, x, **options)
    parallel = make(name, x, parallel=True, **options)
    states = random_states(name, rng) if with_states else None
    assert_close(
        parallel(x, initial_state=states, mask=mask),
        loop(x, initial_state=states, mask=mask),
        atol=2e-6,
    )


@pytest.mark.parametrize("name", ["spar", "mingru"])
@pytest.mark.parametrize("steps", [1, 2, 61])
def test_parallel_lengths(name, steps, rng):
    x = rng.normal(size=(2, steps, FEATURES)).astype("float32")
    loop, parallel = make(name, x), make(name, x, parallel=True)
    assert_close(parallel(x), loop(x), atol=5e-6)


@pytest.mark.parametrize("name", ["spar", "mingru"])
def test_parallel_trains_like_the_loop(name, x):
    y = np.ones((BATCH, UNITS), "float32")
    weights = []
    for parallel in (False, True):
        keras.utils.set_random_seed(3)
        model = keras.Sequential(
            [
                keras.Input((STEPS, FEATURES)),
                make(name, parallel=parallel, dropout=0.2, seed=1),
            ]
        )
        model.compile("sgd", "mse")
        for _ in range(3):
            model.train_on_batch(x, y)
        weights.append(model.get_weights())
    assert_close(*weights)


@pytest.mark.parametrize("name", ["spar", "mingru"])
def test_parallel_with_unknown_time(name, x):
    inputs = keras.Input((None, FEATURES))
    layer = make(name, parallel=True)
    model = keras.Model(inputs, layer(inputs))
    loop = make(name)
    loop.build(x.shape)
    loop.set_weights(layer.get_weights())
    for some in (x, x[:, :3], x[:, :1]):
        assert_close(model.predict_on_batch(some), loop(some))


# Bad input


@EVERY_LAYER
def test_bad_sequences(name, x):
    with pytest.raises(ValueError, match="`sequences` of .* must be of shape"):
        make(name).build((None, FEATURES))
    with pytest.raises(ValueError, match="expected ndim=3|must be of shape"):
        make(name)(x[0])
    with pytest.raises(ValueError, match="at least one time step"):
        make(name)(x[:, :0])
    with pytest.raises(ValueError, match="`sequences` must be of a floating"):
        make(name)(np.ones((1, 2, 3), "int32"))


@EVERY_LAYER
def test_bad_initial_state(name, x, rng):
    layer = make(name, x)
    states = random_states(name, rng)
    for wrong in (
        [s[:, 1:] for s in states],
        [*states, states[0]],
        [s[0] for s in states],
    ):
        with pytest.raises(ValueError, match="`initial_state` of .* must be"):
            layer(x, initial_state=wrong)
    with pytest.raises(ValueError, match="must have the batch size"):
        layer(x, initial_state=[s[:1] for s in states])


@EVERY_LAYER
def test_unknown_argument(name):
    with pytest.raises(ValueError, match="no_such_argument"):
        make(name, no_such_argument=1)


def test_state_width_before_build():
    with pytest.raises(ValueError, match="as wide as its input"):
        keras_duspar.DuSpaR(4).cell.get_initial_state(2)
