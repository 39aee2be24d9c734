"""Everything that users of `keras.layers.RNN` rely on, for every layer."""

import inspect

import keras
import numpy as np
import pytest
from keras import ops

import keras_duspar
from tests import reference
from tests.helpers import CELLS
from tests.helpers import LAYERS
from tests.helpers import assert_close
from tests.helpers import randomize
from tests.helpers import to_numpy
from tests.helpers import weights_of
from tests.layers.common import BATCH
from tests.layers.common import EVERY_LAYER
from tests.layers.common import FEATURES
from tests.layers.common import STEPS
from tests.layers.common import UNITS
from tests.layers.common import make
from tests.layers.common import random_states


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
@pytest.mark.parametrize("features", [1, FEATURES + 1])
def test_features_other_than_built_for(name, x, features):
    """One feature would be broadcast against the states, unnoticed."""
    layer = make(name, x)
    other = np.ones((BATCH, STEPS, features), "float32")
    message = f"`sequences` of .* must have {FEATURES} features"
    with pytest.raises(ValueError, match=message):
        layer(other)
    states = layer.get_initial_state(BATCH)
    with pytest.raises(ValueError, match="`inputs` of .* must have"):
        layer.cell(ops.convert_to_tensor(other[:, 0]), states)


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
