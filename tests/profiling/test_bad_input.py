"""What `profile()` says when it cannot count."""

import re

import keras
import numpy as np
import pytest

import keras_duspar
from tests.helpers import masked_model


def test_no_data():
    model = keras.Sequential([keras.Input((None, 3)), keras_duspar.SpaR(4)])
    with pytest.raises(ValueError, match="`data` must be an array"):
        keras_duspar.profile(model, None)
    with pytest.raises(ValueError, match="`data` must be at least one batch"):
        keras_duspar.profile(model, [])
    for wrong in (3, "data.npy"):
        with pytest.raises(ValueError, match="`data` must be an array"):
            keras_duspar.profile(model, wrong)
    with pytest.raises(ValueError, match="`data` must be made of arrays"):
        keras_duspar.profile(model, [1.0, 2.0])


def test_bad_data(rng):
    model = keras.Sequential([keras.Input((None, 3)), keras_duspar.SpaR(4)])
    x = np.zeros((1, 5, 3), "float32")
    x[0, 1] = np.nan
    with pytest.raises(ValueError, match="`data` must be finite"):
        keras_duspar.profile(model, x)


def test_all_masked():
    model = masked_model("duspar", 3, 4)
    x = np.ones((1, 5, 3), "float32")
    with pytest.raises(ValueError, match="`data` must have at least one time"):
        keras_duspar.profile(model, [x, np.zeros((1, 5), bool)])


def test_no_recurrent_layer():
    model = keras.Sequential([keras.Input((5, 3)), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match="`model` must have a recurrent"):
        keras_duspar.profile(model, np.zeros((1, 5, 3), "float32"))


@pytest.mark.parametrize("rate", [0, -1, "x", float("nan")])
def test_bad_rate(rate):
    model = keras.Sequential([keras.Input((5, 3)), keras_duspar.SpaR(2)])
    with pytest.raises(ValueError, match="`steps_per_second` must be"):
        keras_duspar.profile(model, np.zeros((1, 5, 3), "float32"), rate)


def test_bad_model():
    with pytest.raises(ValueError, match="`model` must be a Keras model"):
        keras_duspar.profile("model", np.zeros((1, 5, 3), "float32"))


def test_unknown_cell(rng):
    class Cell(keras.layers.Layer):
        state_size = output_size = 3

        def call(self, inputs, states):
            return inputs, states

    model = keras.Sequential([keras.layers.RNN(Cell())])
    with pytest.raises(ValueError, match="cost is not known"):
        keras_duspar.profile(model, np.zeros((1, 5, 3), "float32"))


class Matrix(keras.layers.Layer):
    """A product whose cost is not known."""

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 2))

    def call(self, inputs):
        return keras.ops.matmul(inputs, self.kernel)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], 2)


class Matrices(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.matrices = [Matrix(), Matrix()]

    def call(self, inputs):
        for matrix in self.matrices:
            inputs = matrix(inputs)
        return inputs


def test_uncounted_weights_are_named(rng):
    model = keras.Sequential(
        [
            keras.Input((5, 3)),
            keras_duspar.SpaR(2, return_sequences=True),
            Matrix(name="matrix"),
        ]
    )
    with pytest.warns(
        UserWarning, match="not counted: .'matrix'.*register_cost"
    ):
        keras_duspar.profile(model, np.zeros((1, 5, 3), "float32"))


def test_uncounted_layers_have_a_line(rng):
    """Also layers of layers, of which the outermost is named, once."""
    inputs = keras.Input((5, 8))
    x = keras.layers.TimeDistributed(Matrix(), name="steps")(inputs)
    x = Matrices(name="matrices")(x)
    x = keras_duspar.SpaR(2, return_sequences=True, name="spar")(x)
    model = keras.Model(inputs, keras.layers.Dense(3, name="dense")(x))
    model.get_layer("steps").trainable = False  # costs the same
    data = rng.normal(size=(2, 5, 8)).astype("float32")
    with pytest.warns(UserWarning, match=r"\['steps', 'matrices'\]"):
        profile = keras_duspar.profile(model, data)
    assert [layer.name for layer in profile.layers] == ["spar", "dense"]
    assert profile.params == model.count_params()
    lines = {line.split()[0]: line for line in str(profile).splitlines()}
    for name in ("steps", "matrices"):
        params = model.get_layer(name).count_params()
        assert "not counted" in lines[name]
        assert f" {params:,} " in lines[name]
    assert lines["total,"].startswith("total, 2 not counted")
    assert "not counted" not in lines["spar"]
    found = profile.to_dict()["uncounted"]
    assert [layer["kind"] for layer in found] == ["TimeDistributed", "Matrices"]


@pytest.mark.parametrize("as_layer", [False, True])
def test_wrong_number_of_features(as_layer):
    model = keras_duspar.SpaR(4)
    if not as_layer:
        model = keras.Sequential([keras.Input((None, 3)), model])
    keras_duspar.profile(model, np.ones((1, 5, 3), "float32"))
    for shape in ((2, 5, 4), (2, 5, 1), (2, 3), (2, 5, 3, 1)):
        wrong = np.ones(shape, "float32")
        message = rf"`data` must be .*3 features.*{re.escape(str(shape))}"
        with pytest.raises(ValueError, match=message):
            keras_duspar.profile(model, wrong)
        with pytest.raises(ValueError, match=message):
            keras_duspar.profile(model, [wrong, wrong])
    # The length is free, also if the layer was built on another one.
    assert keras_duspar.profile(model, np.ones((1, 9, 3), "float32")).steps == 9
