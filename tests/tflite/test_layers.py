"""Single layers in a file, with every option that they have."""

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar import tflite
from keras_duspar.native import sparse_ops as registry
from keras_duspar.tflite import encoding
from tests.helpers import assert_close
from tests.helpers import randomize

pytestmark = pytest.mark.any_backend
NAMES = ["y", "z", "last", "cell", "f", "g", "backwards", "both"]


def sequential(*layers, features=6):
    model = keras.Sequential([keras.Input((None, features)), *layers])
    randomize(model, 0.5)
    return model


@pytest.fixture
def x(rng):
    return rng.normal(size=(3, 11, 6)).astype("float32")


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    """All forms of the sparse layers, in one file."""
    x = keras.Input((None, 6), name="x")
    y = keras_duspar.DuSpaR(5, return_sequences=True, name="first")(x)
    z = keras_duspar.SpaR(8, return_sequences=True, name="second")(y)
    last = keras_duspar.SpaR(4, name="last", parallel=True)(y)
    cell = keras.layers.RNN(
        keras_duspar.DuSpaRCell(3), return_state=True, name="cell"
    )(z)
    backwards = keras_duspar.DuSpaR(
        4, return_sequences=True, go_backwards=True, name="backwards"
    )(z)
    both = keras.layers.Bidirectional(
        keras_duspar.SpaR(2, return_sequences=True), name="both"
    )(z)
    model = keras.Model(x, [y, z, last, *cell, backwards, both])
    randomize(model, 0.5)
    path = tmp_path_factory.mktemp("stack") / "stack.tflite"
    tflite.convert(model, path, output_names=NAMES)
    return model, path


def test_sparse_layers(stack, rng):
    model, path = stack
    runner = tflite.load(path)
    for shape in ((3, 11), (1, 1), (2, 40), (3, 11)):
        x = rng.normal(size=(*shape, 6)).astype("float32")
        outputs = runner(x)
        assert list(outputs) == NAMES
        assert_close(list(outputs.values()), model(x), atol=1e-5)
    runner.reset_counters()
    runner(x)
    expected = keras_duspar.profile(model, x)
    found = runner.profile()
    assert [layer.name for layer in found.layers] == [
        layer.name for layer in expected.layers
    ]
    assert found.occupancy == pytest.approx(expected.occupancy, rel=1e-3)


@pytest.mark.parametrize("streaming", [False, True])
def test_rates(tmp_path, x, streaming):
    """A layer behind the last step runs once an input, or once a call."""
    model = sequential(keras_duspar.DuSpaR(4), keras.layers.Dense(3))
    path = tflite.convert(model, tmp_path / "m.tflite", streaming=streaming)
    runner = tflite.load(path)
    runner(x)
    runner(x)
    found = runner.profile(steps_per_second=50)
    expected = keras_duspar.profile(model, x, steps_per_second=50)
    rates = [layer.steps_per_second for layer in found.layers]
    if streaming:
        assert rates == [50, 50]
    else:
        assert rates == [layer.steps_per_second for layer in expected.layers]
        assert found.dense_macs == pytest.approx(expected.dense_macs)
        assert found.occupancy == pytest.approx(expected.occupancy, rel=1e-3)
    with pytest.raises(ValueError, match="`steps_per_second`.*Received.*-1"):
        runner.profile(steps_per_second=-1)


def test_dense_over_time_is_one_operator(tmp_path, x):
    model = sequential(
        keras_duspar.DuSpaR(4, return_sequences=True),
        keras.layers.Dense(3, activation="relu"),
    )
    randomize(model, 0.5)
    path = tflite.convert(model, tmp_path / "m.tflite")
    operators = tflite.inspect(path).operators
    assert operators["FULLY_CONNECTED"] == 1
    assert not {"RESHAPE", "GATHER", "BATCH_MATMUL"} & set(operators)
    assert_close(tflite.load(path)(x), model(x), atol=1e-5)


def test_sparse_operators(stack):
    found = tflite.inspect(stack[1])
    names = {op["options"]["layer"]: op["name"] for op in found.sparse}
    assert len(found.sparse) == 7
    assert names["first"] == names["cell"] == "DuSpaR"
    assert names["last"] == "SpaR"
    widths = {op["options"]["layer"]: op["features"] for op in found.sparse}
    assert widths["first"] == 6 and widths["second"] == 5


def test_builtin_layers(tmp_path, x):
    """Every registered layer, and one with two cells, in one file."""
    inputs = keras.Input((None, 6), name="x")
    layers = [
        keras_duspar.layers.get(name)(5, return_sequences=True, name=name)
        for name in keras_duspar.layers.names()
    ]
    cells = [keras_duspar.DeltaGRUCell(4), keras.layers.LSTMCell(3)]
    layers.append(keras.layers.RNN(cells, name="stacked"))
    model = keras.Model(inputs, [layer(inputs) for layer in layers])
    randomize(model, 0.3)
    path = tflite.convert(
        model,
        tmp_path / "m.tflite",
        ops="builtin",
        count=True,
        output_names=[layer.name for layer in layers],
    )
    assert not tflite.inspect(path).sparse
    runner = tflite.load(path, delegate=False)
    outputs = runner(x)
    assert_close([outputs[layer.name] for layer in layers], model(x))
    expected = keras_duspar.profile(model, x)
    for found, layer in zip(runner.profile().layers, expected.layers):
        assert found.occupancies == pytest.approx(layer.occupancies, abs=1e-3)
    assert 0 < runner.occupancy()["delta_gru"]["dx"] < 1


@pytest.mark.parametrize("ops", ["sparse", "builtin"])
def test_masks(tmp_path, x, ops):
    x[:, 3:5] = 0
    x[0, 8:] = 0
    x[2] = 0
    model = sequential(
        keras.layers.Masking(),
        keras_duspar.DuSpaR(4, return_sequences=True, name="recurrent"),
        keras_duspar.SpaR(
            4,
            return_sequences=True,
            zero_output_for_mask=True,
            go_backwards=True,
        ),
    )
    path = tmp_path / "m.tflite"
    tflite.convert(model, path, ops=ops, count=ops == "builtin")
    assert len(tflite.inspect(path).sparse) == (2 if ops == "sparse" else 0)
    runner = tflite.load(path)
    assert_close(runner(x), model(x))
    # One recording, of which the delegate counts the valid steps alone.
    x = x[:1]
    runner.reset_counters()
    assert_close(runner(x), model(x))
    expected = keras_duspar.profile(model, x)
    assert runner.profile().occupancy == pytest.approx(expected.occupancy)
    assert runner.profile().steps == expected.steps


def test_states_behind_masks_need_builtin_operators(tmp_path):
    inputs = keras.Input((None, 6))
    layer = keras_duspar.DuSpaR(4, return_state=True, name="recurrent")
    model = keras.Model(inputs, layer(keras.layers.Masking()(inputs)))
    with pytest.raises(ValueError, match="masks time steps.*'recurrent'"):
        tflite.convert(model, tmp_path / "m.tflite")


@pytest.mark.parametrize("weights", ["bfloat16", "int8"])
def test_smaller_weights(tmp_path, x, weights):
    """The file computes with the rounded weights, and with nothing else."""
    model = sequential(
        keras_duspar.DuSpaR(5, return_sequences=True),
        keras_duspar.SpaR(7, return_sequences=True),
    )
    model.layers[0].cell.feedback.gate_kernel.assign(np.zeros((5, 6)))
    path = tflite.convert(model, tmp_path / "m.tflite", weights=weights)
    before = keras.ops.convert_to_numpy(model(x))
    for layer in model.layers:
        for kernel in registry.sparse_op_of(layer.cell).kernels:
            encoded, scale = encoding.encode(
                keras.ops.convert_to_numpy(kernel), weights
            )
            kernel.assign(encoding.decode(encoded, *scale))
    runner = tflite.load(path)
    assert runner.weights == weights
    # The native kernel may round the operands of int8 products, too.
    tolerance = 1e-5 if weights == "bfloat16" else 0.02
    assert_close(runner(x), model(x), atol=tolerance)
    assert np.abs(runner(x) - before).max() > 1e-4


def test_bfloat16_rounds_to_the_nearest():
    values = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, -0.3, 1e-30], "float32")
    encoded, _ = encoding.encode(values, "bfloat16")
    decoded = np.asarray(encoding.decode(keras.ops.array(encoded)))
    expected = keras.ops.cast(keras.ops.cast(values, "bfloat16"), "float32")
    np.testing.assert_array_equal(decoded, expected)


@pytest.mark.parametrize("policy", ["mixed_float16", "bfloat16"])
def test_other_precision(tmp_path, x, policy):
    """Files compute in float32."""
    model = keras.Sequential(
        [
            keras.Input((None, 6)),
            keras_duspar.DuSpaR(5, return_sequences=True, dtype=policy),
            keras.layers.Dense(3, dtype=policy),
        ]
    )
    path = tflite.convert(model, tmp_path / "m.tflite")
    assert model.layers[0].compute_dtype != "float32"
    actual = tflite.load(path)(x)
    assert actual.dtype == "float32"
    assert_close(actual, keras.ops.cast(model(x), "float32"), atol=0.03)


def test_a_cell_without_operator_of_its_own(tmp_path, x, monkeypatch):
    """A subclass may compute something else, until it says that it does not."""

    class OtherCell(keras_duspar.SpaRCell):
        pass

    model = sequential(
        keras.layers.RNN(OtherCell(4), return_sequences=True, name="rnn")
    )
    path = tflite.convert(model, tmp_path / "m.tflite")
    assert tflite.inspect(path).sparse == []
    assert tflite.inspect(path).description["ops"] == "builtin"
    assert_close(tflite.load(path)(x), model(x))
    monkeypatch.setattr(registry, "_SPARSE_OPS", dict(registry._SPARSE_OPS))
    tflite.register_sparse_op(OtherCell)(
        lambda cell: tflite.SparseOp(
            "SpaR",
            [cell.gate_kernel, cell.candidate_kernel],
            [cell.gate_bias],
        )
    )
    path = tflite.convert(model, tmp_path / "m.tflite")
    assert len(tflite.inspect(path).sparse) == 1
    assert_close(tflite.load(path)(x), model(x))


@pytest.mark.parametrize("ops", ["sparse", "builtin"])
def test_stream_of_features(tmp_path, x, ops):
    """Without a front end; one layer has an odd name."""
    model = sequential(
        keras_duspar.DuSpaR(5, return_sequences=True, name="a.b-c\\d"),
        keras.layers.Dense(4, activation="relu"),
        keras_duspar.SpaR(3, name="last"),
    )
    path = tflite.convert(model, tmp_path / "m.tflite", streaming=True, ops=ops)
    runner = tflite.load(path)
    assert runner.samples == 1 and runner.hop is None
    assert_close(runner(x), model(x))
    runner.reset()
    for t in range(4):
        assert_close(runner.step(x[0, t : t + 1]), model(x[:1, : t + 1])[0])


@pytest.mark.parametrize("streaming", [False, True])
def test_subclassed_model(tmp_path, x, streaming):
    class Spotter(keras.Model):
        def __init__(self):
            super().__init__()
            self.recurrent = keras_duspar.DuSpaR(5, return_sequences=True)
            self.pool = keras.layers.GlobalAveragePooling1D()
            self.head = keras.layers.Dense(3)

        def call(self, inputs, training=False):
            hidden = self.recurrent(inputs, training=training)
            return self.head(self.pool(keras.ops.relu(hidden)))

    model = Spotter()
    with pytest.raises(ValueError, match="`model` must be built.*on data once"):
        tflite.convert(model, tmp_path / "m.tflite")
    model(x[:, :4])
    randomize(model, 0.5)
    path = tflite.convert(model, tmp_path / "m.tflite", streaming=streaming)
    assert len(tflite.inspect(path).sparse) == 1
    assert_close(tflite.load(path)(x), model(x), atol=1e-5)


def test_inputs_in_a_list(tmp_path, x):
    """The message tells shapes, not numbers."""
    path = tflite.convert(
        sequential(keras_duspar.SpaR(3)), tmp_path / "m.tflite"
    )
    runner = tflite.load(path)
    shapes = r"list of 2 with tensors of shapes \[\(3, 11, 6\), \(2, 6\)\]"
    with pytest.raises(ValueError, match=f"must be of shape.*{shapes}"):
        runner([x, x[0, :2]])
