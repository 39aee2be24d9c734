"""Counts against a count of every single product in NumPy."""

import json

import keras
import numpy as np
import pytest
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

import keras_duspar
from tests import reference
from tests.helpers import NAMES
from tests.helpers import assert_close
from tests.helpers import masked_model
from tests.helpers import randomize
from tests.helpers import weights_of


def count_products(name, operands, features, units, mask):
    """Multiplies weight by weight and counts those that are not skipped.

    A product is skipped if its cell can skip zeros of that vector, or the
    whole row of a neuron that is not updated.
    """
    done = 0
    for t, step in enumerate(operands):
        for b in range(len(mask)):
            if not mask[b, t]:
                continue
            row = {key: value[b] for key, value in step.items()}
            done += _products_of_a_step(name, row, features, units)
    return done


def _products_of_a_step(name, row, features, units):
    done = 0
    if name == "duspar":
        for entry in row["e"]:
            for _ in range(2 * units):
                done += entry != 0
        for entry in row["y"]:
            for _ in range(2 * features):
                done += entry != 0
    elif name == "spar":
        done = sum(2 * units for entry in row["x"] if entry != 0)
    elif name == "mingru":
        done = 2 * features * units
    elif name == "delta_gru":
        for entry in [*row["dx"], *row["dh"]]:
            done += 3 * units if entry != 0 else 0
    elif name == "dynamic_gru":
        for neuron in range(units):
            gates = 3 if row["selected"][neuron] else 1
            done += gates * (features + units)
    elif name == "egru":
        for entry in [*row["x"], *row["y"]]:
            done += 3 * units if entry != 0 else 0
    elif name == "irnn":
        done = features * units
        done += sum(units for entry in row["h"] if entry != 0)
    elif name == "ligru":
        done = 2 * (features + units) * units
    return done


@pytest.mark.parametrize("name", NAMES)
@settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_counts_every_product(name, data):
    """Exactly, for random models, data and masks."""
    draw = data.draw
    features, units = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    batch, steps = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(batch, steps, features)).astype("float32")
    x *= rng.random(x.shape) < 0.7  # zeros of the input itself count too
    mask = rng.random((batch, steps)) < 0.8
    mask[0, 0] = True
    model = masked_model(name, features, units)
    layer = model.get_layer("recurrent")
    randomize(layer, seed=seed)
    profile = keras_duspar.profile(model, [x, mask])
    _, _, operands = reference.run(name, weights_of(layer), x, mask=mask)
    expected = count_products(name, operands, features, units, mask)
    found = profile.layers[0].effective_macs * mask.sum()
    assert round(found, 6) == expected
    assert profile.steps == mask.sum()
    dense = {"spar": 2, "mingru": 2, "duspar": 4}.get(name)
    if dense is None:
        gates = {"irnn": 1, "ligru": 2}.get(name, 3)
        assert profile.dense_macs == gates * units * (features + units)
    else:
        assert profile.dense_macs == dense * units * features


@pytest.fixture
def audio(rng):
    return rng.uniform(-0.3, 0.3, (3, 8000)).astype("float32")


def adapted(builder, *args, audio, **kwargs):
    model = builder(*args, **kwargs)
    model.get_layer("log_mel").adapt(audio)
    return model


def test_pooling_divides_the_rate(audio):
    model = adapted(
        keras_duspar.models.intent_recognizer, "duspar", 8, audio=audio
    )
    profile = keras_duspar.profile(model, audio)
    rates = {layer.name: layer.steps_per_second for layer in profile.layers}
    assert rates == {
        "recurrent_1": 62.5,
        "recurrent_2": 15.625,
        "classifier": 3.90625,
    }
    double = keras_duspar.profile(model, audio, steps_per_second=125)
    assert double.effective_macs == pytest.approx(2 * profile.effective_macs)


@pytest.mark.parametrize(
    "pooling", [keras.layers.AveragePooling1D, keras.layers.MaxPooling1D]
)
def test_keras_pooling(pooling, rng):
    x = rng.normal(size=(2, 11, 4)).astype("float32")
    model = keras.Sequential(
        [
            keras_duspar.SpaR(4, return_sequences=True),
            pooling(4),
            keras_duspar.SpaR(4, return_sequences=True),
            keras.layers.Conv1D(3, 2, strides=2, padding="same"),
            keras.layers.Dense(1),
        ]
    )
    profile = keras_duspar.profile(model, x, 100)
    rates = [layer.steps_per_second for layer in profile.layers]
    assert rates == [100, 25, 12.5, 12.5]
    assert profile.layers[2].dense_macs == 12.5 * 2 * 4 * 3


def test_convolution_without_padding_keeps_the_rate(rng):
    x = rng.normal(size=(2, 11, 4)).astype("float32")
    model = keras.Sequential(
        [
            keras_duspar.SpaR(4, return_sequences=True),
            keras.layers.Conv1D(3, 5),
            keras_duspar.SpaR(2),
            keras.layers.Dense(7),
        ]
    )
    profile = keras_duspar.profile(model, x, 100)
    rates = [layer.steps_per_second for layer in profile.layers]
    assert rates[:3] == [100, 100, 100]
    assert rates[3] == pytest.approx(100 / 11)  # once per sequence


def test_embedding_and_a_layer_behind_the_last_step(rng):
    tokens = rng.integers(0, 9, (2, 8))
    model = keras.Sequential(
        [
            keras.layers.Embedding(9, 4),
            keras_duspar.SpaR(4),
            keras.layers.Dense(7),
        ]
    )
    profile = keras_duspar.profile(model, tokens, 80)
    rates = [layer.steps_per_second for layer in profile.layers]
    assert rates == [80, 80, 10]
    assert [layer.dense_macs for layer in profile.layers] == [0, 80 * 32, 280]


def test_layers_come_in_the_order_of_their_calls(rng):
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.second = keras.layers.Dense(2, name="same")
            self.first = keras_duspar.SpaR(
                4, return_sequences=True, name="same"
            )

        def call(self, inputs):
            return self.second(self.first(inputs))

    profile = keras_duspar.profile(
        Model(), rng.normal(size=(2, 5, 3)).astype("float32")
    )
    assert [layer.kind for layer in profile.layers] == ["SpaR", "Dense"]
    assert len({layer.name for layer in profile.layers}) == 2


def test_masked_steps_of_dense_layers(rng):
    x = rng.normal(size=(2, 6, 4)).astype("float32")
    x[0, 2:] = 0
    model = keras.Sequential(
        [
            keras.Input((6, 4)),
            keras.layers.Masking(),
            keras_duspar.DuSpaR(5, return_sequences=True),
            keras.layers.Dense(2),
        ]
    )
    randomize(model)
    profile = keras_duspar.profile(model, x)
    layer = model.layers[1]
    mask = np.any(x != 0, axis=-1)
    _, _, operands = reference.run("duspar", weights_of(layer), x, mask=mask)
    expected = sum(
        (s["e"] != 0)[mask[:, t]].sum() for t, s in enumerate(operands)
    )
    assert profile.steps == 8
    assert profile.layers[0].nonzeros["e"] == pytest.approx(expected / 8)


def test_batches_do_not_matter(audio):
    model = adapted(
        keras_duspar.models.keyword_spotter, "duspar", 8, audio=audio
    )
    whole = keras_duspar.profile(model, audio).to_dict()
    parts = keras_duspar.profile(model, audio, batch_size=2).to_dict()
    listed = keras_duspar.profile(model, [audio[:1], audio[1:]]).to_dict()
    pairs = keras_duspar.profile(
        model, iter([(audio[:1], 0), (audio[1:], 0)])
    ).to_dict()
    assert whole == parts == listed == pairs


def test_recordings_of_different_length(audio):
    model = adapted(
        keras_duspar.models.keyword_spotter, "duspar", 8, audio=audio
    )
    both = [audio[:1], audio[1:2, :4096]]
    profile = keras_duspar.profile(model, both)
    assert profile.steps == 8000 // 256 + 4096 // 256
    counts = [keras_duspar.profile(model, a) for a in both]
    expected = sum(p.effective_macs * p.steps for p in counts) / profile.steps
    assert profile.effective_macs == pytest.approx(expected)


def test_data_sets(audio):
    class Data(keras.utils.PyDataset):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return audio[index : index + 1], np.zeros(1)

    model = adapted(
        keras_duspar.models.keyword_spotter, "duspar", 8, audio=audio
    )
    expected = keras_duspar.profile(model, audio).to_dict()
    assert keras_duspar.profile(model, Data()).to_dict() == expected
    assert keras_duspar.profile(model, (audio, None)).to_dict() == expected
    tf = pytest.importorskip("tensorflow")
    dataset = tf.data.Dataset.from_tensor_slices(audio).batch(2)
    assert keras_duspar.profile(model, dataset).to_dict() == expected


def test_leaves_the_model_alone(rng):
    x = rng.normal(size=(2, 5, 3)).astype("float32")
    model = keras.Sequential(
        [
            keras.Input(batch_shape=x.shape),
            keras_duspar.DuSpaR(4, stateful=True),
        ]
    )
    model(x)
    layer = model.layers[0]
    states = [np.array(keras.ops.convert_to_numpy(s)) for s in layer.states]
    weights = model.get_weights()
    keras_duspar.profile(model, x)
    assert_close(layer.states, states, atol=0)
    assert_close(model.get_weights(), weights, atol=0)
    assert "call" not in vars(layer)


def test_leaves_the_model_alone_after_an_error(rng):
    model = keras.Sequential([keras.Input((None, 3)), keras_duspar.DuSpaR(4)])
    with pytest.raises(Exception, match=".+"):
        keras_duspar.profile(model, np.zeros((1, 5, 4), "float32"))
    assert "call" not in vars(model.layers[0])


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_counts_are_whole(policy, rng):
    """More entries than a half-precision number can count to."""
    x = np.abs(rng.normal(size=(1, 3, 3000))).astype("float32")
    layer = keras_duspar.SpaR(2, dtype=policy)
    profile = keras_duspar.profile(keras.Sequential([layer]), x)
    assert profile.layers[0].nonzeros["x"] == 3000


@pytest.mark.parametrize(
    "rate, unit",
    [(1, ""), (100, " k"), (1e5, " M"), (1e8, " G")],
)
def test_table_scales_its_columns(rate, unit):
    model = keras.Sequential(
        [keras.Input((None, 4)), keras.layers.SimpleRNN(5)]
    )
    profile = keras_duspar.profile(model, np.ones((1, 3, 4), "float32"), rate)
    factor = {"": 1, " k": 1e3, " M": 1e6, " G": 1e9}[unit]
    value = (4 * 5 + 5 * 5) * rate / factor
    text = f"{value:.3f}{unit}" if unit else f"{value:.6g}"
    total = str(profile).splitlines()[-1].split("  ")
    assert [cell.strip() for cell in total].count(text) == 3


def test_table_dict_and_plot(audio, tmp_path, capsys):
    model = adapted(
        keras_duspar.models.keyword_spotter, "duspar", 8, audio=audio
    )
    profile = keras_duspar.profile(model, audio)
    profile.table()
    printed = capsys.readouterr().out
    assert printed.strip() == str(profile)
    for text in ("recurrent_1", "DuSpaR", "total", f"{profile.params:,}"):
        assert text in printed
    data = json.loads(json.dumps(profile.to_dict()))
    assert data["occupancy"] == profile.occupancy
    assert data["layers"][0]["occupancies"].keys() == {"e", "y"}
    assert len(data["layers"][0]["operands"][0]["over_time"]) == 31
    total = sum(layer["effective_macs"] for layer in data["layers"])
    assert total == pytest.approx(data["effective_macs"])
    figure = profile.plot(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5000
    curves = [line.get_ydata() for line in figure.axes[0].lines]
    assert_close(
        curves, [100 * c for c in profile.layers[0].over_time.values()]
    )


def test_elementwise_and_biases_as_in_the_paper(rng):
    """2(N + M) for the gated updates of a DuSpaR layer, and its biases."""
    x = rng.normal(size=(1, 3, 5)).astype("float32")
    model = keras.Sequential([keras_duspar.DuSpaR(7)])
    profile = keras_duspar.profile(model, x)
    assert profile.elementwise == profile.biases == 2 * (5 + 7)
    assert profile.weight_fetches == profile.effective_macs


# The callback


def test_callback(rng):
    x = rng.normal(size=(32, 6, 4)).astype("float32")
    y = rng.normal(size=(32, 5)).astype("float32")
    model = keras.Sequential(
        [keras.Input((6, 4)), keras_duspar.DuSpaR(5, name="duspar")]
    )
    model.compile(keras.optimizers.Adam(0.05), "mse")
    callback = keras_duspar.callbacks.Occupancy(
        ([x[:4], x[4:8]][i] for i in (0, 1)), steps_per_second=50
    )
    history = model.fit(
        x, y, epochs=3, batch_size=8, callbacks=[callback], verbose=0
    ).history
    final = keras_duspar.profile(model, x[:8], 50)
    assert history["occupancy"][-1] == pytest.approx(final.occupancy)
    assert history["effective_macs"][-1] == pytest.approx(final.effective_macs)
    assert len(set(history["occupancy/duspar"])) > 1
