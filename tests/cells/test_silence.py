"""States that die away in silence: in Keras, in NumPy and in C."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_duspar import layers
from keras_duspar import native
from tests import reference
from tests.helpers import assert_close
from tests.helpers import to_numpy
from tests.helpers import weights_of

TINY = 2.0**-100
FEATURES, UNITS, BATCH = 5, 6, 2
SOUND, SILENCE = 20, 500


def make_layer(name, **options):
    """Forgets half of its state in a step, and what it makes of it."""
    layer = getattr(layers, name)(
        UNITS,
        kernel_initializer=keras.initializers.RandomNormal(0, 0.2, seed=3),
        gate_bias_initializer="zeros",
        return_sequences=True,
        return_state=True,
        **options,
    )
    layer.build((BATCH, None, FEATURES))
    return layer


def make_input(rng):
    x = np.zeros((BATCH, SOUND + SILENCE, FEATURES), "float32")
    x[:, :SOUND] = rng.normal(size=(BATCH, SOUND, FEATURES))
    return x


def assert_dies_away(outputs):
    """It is loud, then below all normal numbers, and never in between."""
    sizes = np.abs(outputs)
    assert sizes[:, SOUND - 1].max() > 0.01
    assert not sizes[:, -50:].any()
    assert 0 < sizes[sizes > 0].min() < 1e-25
    assert sizes[sizes > 0].min() > TINY


@pytest.mark.parametrize(
    "name, options",
    [("SpaR", {}), ("SpaR", {"parallel": True}), ("DuSpaR", {})],
)
def test_silence_after_sound(name, options, rng):
    layer, x = make_layer(name, **options), make_input(rng)
    found, *after = map(to_numpy, layer(x))
    weights = weights_of(layer.cell)
    expected, expected_states, _ = reference.run(name.lower(), weights, x)
    stored = {n: np.asarray(w, "float32") for n, w in weights.items()}
    in_c, c_states, _ = native.Layer(name.lower(), stored)(x)
    for outputs in (found, expected, in_c):
        assert_dies_away(outputs)
    assert_close(found, expected)
    assert_close(in_c, expected)
    assert len(after) == len(layer.cell.state_names)
    for state in (*after, *expected_states, *c_states):
        assert not np.any(state)


@pytest.mark.parametrize("name", ["SpaR", "DuSpaR"])
@pytest.mark.parametrize("sign", [1, -1])
def test_where_it_ends(name, sign):
    """The largest that is dropped, the smallest that is not; NaN stays."""
    cell = make_layer(name).cell
    half = cell if name == "SpaR" else cell.feedforward
    kept = np.nextafter(np.float32(TINY), np.float32(1))
    values = np.array([[TINY, kept, 1e-44, np.nan, np.inf, 0.5]], "float32")
    found = to_numpy(half.settled(ops.convert_to_tensor(sign * values)))
    expected = sign * np.array([[0, kept, 0, np.nan, np.inf, 0.5]], "float32")
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found, reference.flush(sign * values))
    assert half.settled(values, training=True) is values


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_precisions(dtype, rng, float64):
    layer = make_layer("SpaR", dtype=dtype)
    outputs, state = layer(make_input(rng).astype("float32"))
    assert keras.backend.standardize_dtype(outputs.dtype) == dtype
    outputs = to_numpy(ops.cast(outputs, "float32"))
    assert np.abs(outputs[:, SOUND - 1]).max() > 0.01
    assert not outputs[:, -50:].any()
