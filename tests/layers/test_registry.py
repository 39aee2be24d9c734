"""Recurrent layers by name."""

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar.layers import registry


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_LAYERS", dict(registry._LAYERS))


def test_names():
    assert keras_duspar.layers.names() == [
        "delta_gru",
        "duspar",
        "dynamic_gru",
        "egru",
        "gru",
        "irnn",
        "ligru",
        "mingru",
        "spar",
    ]
    assert keras_duspar.layers.get("gru") is keras.layers.GRU
    assert keras_duspar.layers.get("duspar") is keras_duspar.DuSpaR
    assert keras_duspar.layers.get(keras.layers.LSTM) is keras.layers.LSTM


def test_own_layer():
    keras_duspar.layers.register("lstm", keras.layers.LSTM)
    model = keras_duspar.models.keyword_spotter("lstm", 8)
    assert isinstance(model.get_layer("recurrent_1"), keras.layers.LSTM)


def test_own_cell(tmp_path):
    @keras_duspar.layers.register("half")
    class HalfCell(keras_duspar.RecurrentCell):
        """Halves everything."""

        def __init__(self, units, *args, rate=0.5, **kwargs):
            super().__init__(units, *args, **kwargs)
            self.rate = rate

        def build(self, input_shape):
            super().build(input_shape)
            self.kernel = self.add_kernel(
                "kernel", (self.input_dim, self.units)
            )

        def step(self, inputs, states, training=False):
            h = self.rate * states[0] + keras.ops.matmul(inputs, self.kernel)
            return h, [h], {"x": inputs}

        def cost(self):
            operand = keras_duspar.Operand("x", self.input_dim, self.units)
            return keras_duspar.Cost((operand,), elementwise=self.units)

    model = keras_duspar.models.keyword_spotter(
        "half", 8, options={"rate": 0.25}
    )
    assert model.get_layer("recurrent_2").rate == 0.25
    audio = np.random.normal(size=(1, 8000)).astype("float32")
    assert keras_duspar.profile(model, audio).occupancy == 1
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    np.testing.assert_allclose(
        keras.ops.convert_to_numpy(loaded(audio)),
        keras.ops.convert_to_numpy(model(audio)),
        atol=1e-6,
    )


@pytest.mark.parametrize("name", ["", 3, None])
def test_bad_name(name):
    with pytest.raises(ValueError, match="`name` must be"):
        keras_duspar.layers.register(name, keras.layers.LSTM)


def test_bad_layer():
    with pytest.raises(ValueError, match="`layer` must be a subclass"):
        keras_duspar.layers.register("dense", keras.layers.Dense)


def test_taken_name():
    with pytest.raises(ValueError, match="`name` must not be taken"):
        keras_duspar.layers.register("gru", keras.layers.LSTM)


def test_unknown_name():
    with pytest.raises(ValueError, match="one of 'delta_gru', 'duspar'"):
        keras_duspar.layers.get("grus")


@pytest.mark.any_backend
def test_default_names():
    """They are those of the registry; a subclass has one of its own."""
    keras.backend.clear_session()

    class MyDuSpaR(keras_duspar.DuSpaR):
        pass

    for name in ("duspar", "spar", "mingru", "delta_gru", "egru", "ligru"):
        layer_class = keras_duspar.layers.get(name)
        assert [layer_class(2).name for _ in range(3)] == [
            name,
            f"{name}_1",
            f"{name}_2",
        ]
        assert layer_class(2, name="mine").name == "mine"
        config = layer_class(2).get_config()
        assert layer_class.from_config(config).name == config["name"]
    assert MyDuSpaR(2).name.startswith("my_du")
