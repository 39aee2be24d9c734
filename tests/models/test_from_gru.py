"""Models with DuSpaRs in place of GRUs, and hints for those who know GRU."""

import inspect

import keras
import numpy as np
import pytest
from keras import layers

import keras_duspar
from keras_duspar.models import from_gru
from keras_duspar.utils.nesting import all_layers
from tests.helpers import assert_close
from tests.helpers import to_numpy


def stacked():
    return keras.Sequential(
        [
            keras.Input((None, 8)),
            layers.Dense(10, name="before"),
            layers.GRU(12, return_sequences=True, name="first"),
            layers.GRU(12, name="second"),
            layers.Dense(3, name="after"),
        ]
    )


def branched():
    """Bidirectional, backwards, with states and options."""
    x = keras.Input((None, 8))
    y = layers.Bidirectional(
        layers.GRU(8, return_sequences=True, dropout=0.1, seed=3),
        merge_mode="sum",
        name="both",
    )(x)
    y = layers.Add()([x, y])
    z, h = layers.GRU(6, return_state=True, go_backwards=True, name="last")(y)
    return keras.Model(x, layers.Concatenate()([z, h]))


def nested():
    inner = keras.Sequential([keras.Input((5, 8)), layers.GRU(9, name="gru")])
    x = keras.Input((5, 8))
    cells = [layers.GRUCell(8), layers.GRUCell(4)]
    y = layers.RNN(cells, return_sequences=True, name="cells")(x)
    return keras.Model(x, [layers.Dense(2)(inner(x)), y])


def test_equal_parameters(capsys):
    """The paper's pair: a GRU of 96 and a DuSpaR of 128."""
    model = keras.Sequential(
        [
            keras.Input((None, 64)),
            layers.GRU(96, return_sequences=True, name="first"),
            layers.GRU(96, activation="relu", name="second"),
            layers.Dense(35),
        ]
    )
    copy = from_gru(model)
    assert copy.count_params() == 103_715
    for name in ("first", "second"):
        layer = copy.get_layer(name)
        assert type(layer) is keras_duspar.DuSpaR and layer.units == 128
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["first", "96", "46,656", "128", "33,152"]
    assert lines[3].split()[-1] == "activation"
    assert lines[5].split() == ["model", "105,923", "103,715"]


def test_other_layers_keep_their_weights(rng):
    model = stacked()
    copy = from_gru(model, report=None)
    difference = abs(copy.count_params() / model.count_params() - 1)
    assert difference < 0.1
    weights = to_numpy(model.get_layer("before").kernel)
    assert_close(copy.get_layer("before").kernel, weights, atol=0)
    # As before, the copy takes sequences of any length, and trains.
    x = rng.normal(size=(4, 6, 8)).astype("float32")
    copy.compile("adam", "mse")
    assert np.isfinite(copy.train_on_batch(x, np.ones((4, 3), "float32")))


def test_options_stay(rng, tmp_path):
    model = branched()
    copy = from_gru(model, keep_units=True, report=None)
    both, last = copy.get_layer("both"), copy.get_layer("last")
    assert (both.forward_layer.units, last.units) == (8, 6)
    assert both.backward_layer.go_backwards and both.merge_mode == "sum"
    assert not both.forward_layer.go_backwards
    assert both.forward_layer.dropout == 0.1 and both.forward_layer.seed == 3
    assert last.go_backwards and last.return_state
    x = rng.normal(size=(2, 5, 8)).astype("float32")
    y = to_numpy(copy(x))
    # What was the GRU's state is f, the output without its bias.
    assert_close(y[:, :6], y[:, 6:])
    copy.save(tmp_path / "m.keras")
    assert_close(keras.models.load_model(tmp_path / "m.keras")(x), y)


def test_cells_and_models_within_models(rng):
    copy = from_gru(nested(), report=None)
    cells = copy.get_layer("cells").cell.cells
    assert [type(c) for c in cells] == 2 * [keras_duspar.DuSpaRCell]
    kinds = {type(layer) for layer in all_layers(copy)}
    assert keras_duspar.DuSpaR in kinds and layers.GRU not in kinds
    x = rng.normal(size=(2, 5, 8)).astype("float32")
    assert [y.shape[0] for y in copy(x)] == [2, 2]


def test_task_and_labels_stay():
    model = keras_duspar.models.keyword_spotter("gru", 4, labels=["a", "b"])
    copy = from_gru(model, report=None)
    assert (copy.task, copy.labels) == ("kws", ["a", "b"])


def test_what_cannot_be_replaced():
    with pytest.raises(ValueError, match="`keep_units=True` keeps the widths"):
        from_gru(branched(), report=None)
    with pytest.raises(ValueError, match="`model` must have layers"):
        from_gru(keras.Sequential([keras.Input((3,)), layers.Dense(2)]))
    with pytest.raises(ValueError, match="`model` must be a `keras.Model`"):
        from_gru(layers.GRU(3))
    x, h = keras.Input((None, 4)), keras.Input((5,))
    for y in (
        layers.GRU(5, name="g")(x, initial_state=h),
        layers.GRU(5, name="g")(x, h),
    ):
        with pytest.raises(ValueError, match="states of 'g'.*coming_from_gru"):
            from_gru(keras.Model([x, h], y))


@pytest.mark.any_backend
def test_arguments_of_gru_that_do_not_exist():
    ours = inspect.signature(keras_duspar.DuSpaR).parameters
    theirs = inspect.signature(layers.GRU.__init__).parameters
    unknown = set(theirs) - set(ours) - {"self"}
    assert {"activation", "reset_after", "use_cudnn"} <= unknown
    for name in unknown:
        for make in (keras_duspar.DuSpaR, keras_duspar.DuSpaRCell):
            with pytest.raises(ValueError, match=f"`{name}`.*coming_from_gru"):
                make(4, **{name: "tanh"})
    with pytest.raises(ValueError, match="`kernel_init.*'tanh'.*coming_from"):
        keras_duspar.DuSpaR(8, "tanh")
    # Those that have such a kernel take it.
    layer = keras_duspar.DeltaGRU(4, recurrent_initializer="zeros")
    assert isinstance(layer.recurrent_initializer, keras.initializers.Zeros)
    with pytest.raises(ValueError, match="Unrecognized keyword.*unit"):
        keras_duspar.DuSpaR(4, unit=3)


def test_one_state_names_the_page():
    x, h = np.zeros((2, 3, 4), "float32"), np.zeros((2, 5), "float32")
    with pytest.raises(ValueError, match="2 tensor.*coming_from_gru"):
        keras_duspar.DuSpaR(5)(x, initial_state=[h])
