"""What `profile()` says when it cannot count."""

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


def test_uncounted_weights_are_named(rng):
    class Matrix(keras.layers.Layer):
        def build(self, shape):
            self.kernel = self.add_weight(shape=(shape[-1], 2))

        def call(self, inputs):
            return keras.ops.matmul(inputs, self.kernel)

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
