"""`callbacks.Budget` in `fit()`."""

import json
import warnings

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar.budgets import frame_times
from keras_duspar.callbacks import Budget
from keras_duspar.native import Layer
from tests.helpers import to_numpy


def model_of(layer="duspar", units=12, head=True):
    keras.utils.set_random_seed(0)
    recurrent = keras_duspar.layers.get(layer)
    model = keras.Sequential(
        [
            keras.Input((None, 8)),
            recurrent(units, return_sequences=True),
            recurrent(units, return_sequences=True),
            *([keras.layers.Dense(2)] if head else []),
        ]
    )
    model.compile(keras.optimizers.Adam(1e-2), "mse")
    return model


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(128, 9, 8)).astype("float32")
    y = np.stack([x[..., 0] * x[..., 1], np.cumsum(x[..., 2], 1)], -1)
    return x, y / y.std()


def test_fit_reaches_it_and_leaves_no_trace(data, tmp_path):
    x, y = data
    model = model_of()
    variables = len(model.variables)
    before = keras_duspar.profile(model, x).occupancy
    budget = Budget(0.36, data=x, steps=160)
    saver = keras.callbacks.ModelCheckpoint(tmp_path / "m.keras")
    history = model.fit(
        x, y, 16, epochs=50, verbose=0, callbacks=[budget, saver]
    ).history
    assert before > 0.42
    found = keras_duspar.profile(model, x).occupancy
    assert found == pytest.approx(0.36, abs=0.04)
    assert history["budget_occupancy"][-1] == pytest.approx(found, abs=1e-6)
    aims = history["budget_aim"]
    assert aims[0] > aims[15] > aims[-1] == 0.36
    assert min(history["budget_weight"]) > 0
    assert history["loss"][-1] < history["loss"][0]
    assert len(model.variables) == variables
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert len(loaded.variables) == variables
    np.testing.assert_array_equal(
        to_numpy(loaded(x[:4])), to_numpy(model(x[:4]))
    )
    # The same object goes on, and without it nothing is added any more.
    step = budget.controller.step
    model.fit(x, y, 16, epochs=1, verbose=0, callbacks=[budget])
    assert budget.controller.step == step + 8
    weight = budget.controller.weight
    model.fit(x, y, 16, epochs=1, verbose=0)
    assert budget.controller.weight == weight


@pytest.mark.any_backend
def test_macs_per_second_are_those_of_the_profile(data):
    x, y = data
    model = model_of()
    dense = keras_duspar.profile(model, x, 50.0).dense_macs
    budget = Budget(macs_per_second=0.3 * dense, steps_per_second=50.0)
    model.fit(x, y, epochs=1, verbose=0, callbacks=[budget])
    assert budget.controller.target == pytest.approx(0.3)


@pytest.mark.any_backend
def test_microseconds_from_a_table(data, tmp_path):
    x, y = data
    path = tmp_path / "times.json"
    layers = [["DuSpaR", 8, 12, 1.0], ["DuSpaR", 12, 12, 1.0]]
    frame_times.write(path, layers, [(0.0, 1.0), (0.5, 3.0), (1.0, 9.0)])
    budget = Budget(microseconds=2.0, table=path)
    model = model_of()
    model.fit(x, y, epochs=1, verbose=0, callbacks=[budget])
    fixed = 24 / (24 + 4 * (8 * 12 + 12 * 12))
    expected = fixed + 0.25 * (1 - fixed)
    assert budget.controller.target == pytest.approx(expected)
    with pytest.raises(ValueError, match="`microseconds` must be between 1, "):
        model.fit(
            x, y, verbose=0, callbacks=[Budget(microseconds=0.5, table=path)]
        )
    with pytest.raises(ValueError, match="`table` must be measured on"):
        model_of(units=5).fit(
            x, y, verbose=0, callbacks=[Budget(microseconds=2.0, table=path)]
        )
    path.write_text(json.dumps({"layers": layers}))
    with pytest.raises(ValueError, match="`table` must be a file of"):
        model_of().fit(
            x, y, verbose=0, callbacks=[Budget(microseconds=2.0, table=path)]
        )


@pytest.mark.any_backend
@pytest.mark.parametrize("weights", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("kind", ["DuSpaR", "SpaR"])
def test_measured_layers_have_the_occupancy(kind, weights):
    try:
        layer, x = frame_times._layer(kind, 20, 30, 0.3, weights)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert isinstance(layer, Layer)
    _, _, counts = layer(x)
    expected = [0.3 * 20, 0.3 * 30 if kind == "DuSpaR" else 0]
    assert [n / frame_times.STEPS for n in counts.nonzeros] == expected
    table = frame_times.measure([[kind, 20, 30, 0.5]], weights)
    assert [share for share, _ in table] == list(frame_times.OCCUPANCIES)
    assert all(us > 0 for _, us in table)


@pytest.mark.any_backend
def test_target_above_the_natural_one_is_told(data):
    x, y = data
    with pytest.warns(UserWarning, match="occupancy is .* already"):
        model_of().fit(x, y, verbose=0, callbacks=[Budget(0.9)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model_of().fit(x, y, verbose=0, callbacks=[Budget(0.3)])


@pytest.mark.any_backend
class TestBadInput:
    @pytest.mark.parametrize(
        "arguments, words",
        [
            ({}, "One of `occupancy`.* must be given. Received: none"),
            (
                {"occupancy": 0.3, "macs_per_second": 5e5},
                "One of .* Received: occupancy=0.3, macs_per_second",
            ),
            ({"occupancy": 1.0}, "`occupancy` must be a number in"),
            ({"occupancy": float("nan")}, "`occupancy` must be a number in"),
            ({"macs_per_second": 0}, "`macs_per_second` must be"),
            ({"microseconds": "3us"}, "`microseconds` must be"),
            ({"occupancy": 0.3, "width": 0}, "`width` must be"),
            ({"occupancy": 0.3, "steps": 0}, "`steps` must be a positive"),
            ({"occupancy": 0.3, "table": "t"}, "`table` must be None"),
        ],
    )
    def test_arguments(self, arguments, words):
        with pytest.raises(ValueError, match=words):
            Budget(**arguments)

    def test_below_what_dense_layers_cost(self, data):
        model = model_of()
        with pytest.raises(
            ValueError, match="`occupancy` must be between 0.02"
        ):
            model.fit(*data, verbose=0, callbacks=[Budget(0.02)])
        assert model.layers[0].meter is None

    def test_a_model_without_such_layers(self, data):
        with pytest.raises(ValueError, match="`model` must .*with GRU, GRU"):
            model_of("gru").fit(*data, verbose=0, callbacks=[Budget(0.3)])

    def test_microseconds_of_other_layers(self, data):
        budget = Budget(microseconds=3.0)
        with pytest.raises(ValueError, match="`microseconds` .*DeltaGRU"):
            model_of("delta_gru").fit(*data, verbose=0, callbacks=[budget])

    def test_epochs_of_unknown_length(self, data):
        def endless():
            while True:
                yield data[0][:8], data[1][:8]

        inputs = [keras.Input((9, 8))]
        model = keras.Model(inputs, keras_duspar.DuSpaR(2)(inputs[0]))
        budget = Budget(0.3)
        budget.set_model(model)
        budget.set_params({"epochs": 2, "steps": None})
        with pytest.raises(ValueError, match="`steps` must be given"):
            budget.on_train_begin()
