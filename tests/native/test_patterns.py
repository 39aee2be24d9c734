"""Built-in operators that the delegate runs beside the sparse ones."""

import numpy as np
import pytest
from ai_edge_litert import interpreter as litert
from ai_edge_litert import schema_py_generated as schema

from keras_duspar import native
from tests.native import common
from tests.native import models

pytestmark = pytest.mark.any_backend

FEATURES, UNITS, WIDTH = 7, 5, 19
RELU = schema.ActivationFunctionType.RELU
RELU6 = schema.ActivationFunctionType.RELU6


class Model:
    """A sparse layer whose output goes through built-in operators."""

    def __init__(self, steps=1, signature=None):
        self.graph, self.steps = models.Graph(), steps
        self.rng = np.random.default_rng(0)
        weights, _ = common.make_weights("duspar", FEATURES, UNITS)
        x = self.graph.input((1, steps, FEATURES), signature=signature)
        states = [self.graph.input((1, n)) for n in (UNITS, FEATURES)]
        shapes = [(1, steps, UNITS), (1, UNITS), (1, FEATURES)]
        self.y, self.f, self.g = models.add_layer(
            self.graph, "DuSpaR", weights, x, states, shapes, "float32", "l"
        )

    def random(self, *shape):
        return self.rng.normal(size=shape).astype("float32")

    def constant(self, value):
        return self.graph.constant(np.asarray(value))

    def kernel(self, stored="float32"):
        """A kernel as the converter stores it, and as it is meant."""
        if stored == "float32":
            kernel = self.random(WIDTH, UNITS)
            return self.constant(kernel), kernel
        if stored == "float16":
            kernel = self.random(WIDTH, UNITS).astype("float16")
            kernel[0, 0], kernel[1, 1] = 6e-8, -1e-5  # below the normal ones
            number = self.constant(kernel)
            meant, version = kernel.astype("float32"), 3
        else:
            kernel = self.rng.integers(-127, 128, (WIDTH, UNITS), "int8")
            scale = self.rng.uniform(0.001, 0.02, WIDTH).astype("float32")
            number = self.constant(kernel)
            known = schema.QuantizationParametersT()
            known.scale, known.quantizedDimension = scale, 0
            known.zeroPoint = np.zeros(WIDTH, "int64")
            self.graph.graph.tensors[number].quantization = known
            meant, version = kernel * scale[:, np.newaxis], 5
        number = self.graph.builtin(
            "DEQUANTIZE", [number], kernel.shape, version=version
        )
        return number, meant.astype("float32")

    def dense(self, kernel, bias=-1, keep=True, activation=0, x=None):
        rank3 = (1, self.steps, WIDTH)
        return self.graph.builtin(
            "FULLY_CONNECTED",
            [self.y if x is None else x, kernel, bias],
            rank3 if keep else (self.steps, WIDTH),
            kind="FullyConnectedOptions",
            version=5,
            keepNumDims=keep,
            fusedActivationFunction=activation,
        )

    def sigmoid(self, x):
        return self.graph.builtin("LOGISTIC", [x], (1, self.steps, WIDTH))

    def binary(self, name, a, b, shape):
        kind = f"{name.title()}Options"
        return self.graph.builtin(name, [a, b], shape, kind=kind)

    def norm(self, axis=2, width=UNITS):
        """What Keras' LayerNormalization becomes."""
        gamma, beta = self.random(width), self.random(width)
        axis = self.constant(np.array([axis], "int32"))
        one, all_ = (1, self.steps, 1), (1, self.steps, width)
        builtin, binary = self.graph.builtin, self.binary
        mean = {"kind": "ReducerOptions", "keepDims": True}
        m = builtin("MEAN", [self.y, axis], one, **mean)
        negative = builtin("NEG", [m], one)
        difference = builtin("SQUARED_DIFFERENCE", [self.y, m], all_)
        v = builtin("MEAN", [difference, axis], one, **mean)
        v = binary("ADD", v, self.constant(np.float32(1e-3)), one)
        v = builtin("RSQRT", [v], one)
        scale = binary("MUL", v, self.constant(gamma[None, None]), all_)
        shift = binary("MUL", negative, scale, all_)
        shift = binary("ADD", shift, self.constant(beta[None, None]), all_)
        scaled = binary("MUL", self.y, scale, all_)
        self.inner = {"mean": m, "deviation": v, "scaled": scaled}
        return binary("ADD", scaled, shift, all_), gamma, beta

    def slice(self, x, begin, end, shape, **masks):
        bounds = [np.array(b, "int32") for b in (begin, end, [1] * len(begin))]
        inputs = [x, *map(self.constant, bounds)]
        kind = "StridedSliceOptions"
        return self.graph.builtin(
            "STRIDED_SLICE", inputs, shape, kind=kind, **masks
        )

    def window(self, calls, first=1, least=1.0, fused=0):
        """What `SlidingMean` becomes, of the layer's outputs."""
        ring = self.graph.input((1, calls, UNITS))
        kept = (1, calls - 1, UNITS)
        end = (1, calls - 1 + first, UNITS)
        rest = self.slice(ring, (0, first, 0), end, kept)
        joined = self.graph.builtin(
            "CONCATENATION",
            [rest, self.y],
            (1, calls, UNITS),
            kind="ConcatenationOptions",
            axis=1,
        )
        sums = self.graph.builtin(
            "SUM",
            [joined, self.constant(np.array(1, "int32"))],
            (1, UNITS),
            kind="ReducerOptions",
            keepDims=False,
        )
        most = self.slice(
            sums, (0, 0), (0, -1), (1, UNITS - 1), beginMask=3, endMask=1
        )
        last = self.slice(sums, (0, -1), (0, 0), (1, 1), beginMask=1, endMask=3)
        count = self.graph.builtin(
            "MAXIMUM",
            [last, self.constant(np.float32(least))],
            (1, 1),
            kind="MaximumMinimumOptions",
        )
        self.inner = {"rest": rest, "sums": sums, "last": last, "count": count}
        mean = self.graph.builtin(
            "DIV",
            [most, count],
            (1, UNITS - 1),
            kind="DivOptions",
            fusedActivationFunction=fused,
        )
        return ring, joined, mean

    def run(self, *outputs, seed=1):
        """How many operators of ours there are, y, and the outputs."""
        handle = native.new_handle()
        delegate = litert.load_delegate(
            native.library_path(), {"handle": handle}
        )
        content = self.graph.bytes([self.y, self.f, self.g, *outputs])
        interpreter = litert.Interpreter(
            model_content=content,
            experimental_delegates=[delegate],
            experimental_op_resolver_type=(
                litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
            ),
        )
        interpreter.allocate_tensors()
        rng = np.random.default_rng(seed)
        for detail in interpreter.get_input_details():
            x = rng.normal(size=detail["shape"]).astype("float32")
            interpreter.set_tensor(detail["index"], x)
        for _ in range(2):
            interpreter.invoke()
        (operator,) = native.operators(handle)
        assert (operator.layer, operator.invocations) == ("l", 2)
        ours = [
            d
            for d in interpreter._get_ops_details()
            if d["op_name"] == "DELEGATE"
        ]
        values = [interpreter.get_tensor(i) for i in (self.y, *outputs)]
        return len(ours), *values


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype("float64")))


@pytest.mark.parametrize("stored", ["float32", "float16", "int8"])
@pytest.mark.parametrize("keep", [True, False])
def test_dense(stored, keep):
    model = Model()
    kernel, meant = model.kernel(stored)
    bias = model.random(WIDTH)
    output = model.dense(kernel, model.constant(bias), keep, RELU)
    count, y, found = model.run(output)
    expected = np.maximum(y @ meant.T + bias, 0)
    assert count == 2
    assert found.shape == ((1, 1, WIDTH) if keep else (1, WIDTH))
    np.testing.assert_allclose(
        found.ravel(), expected.ravel(), atol=1e-6, rtol=1e-5
    )


@pytest.mark.parametrize("swapped", [False, True])
def test_mask(swapped):
    """Sums, sigmoid and product are one operator."""
    model = Model()
    kernel, meant = model.kernel()
    other, meant_other = model.kernel()
    features = model.dense(other)
    mask = model.sigmoid(model.dense(kernel))
    pair = (mask, features) if swapped else (features, mask)
    masked = model.binary("MUL", *pair, (1, 1, WIDTH))
    count, y, found = model.run(masked)
    assert count == 3
    expected = sigmoid(y @ meant.T) * (y @ meant_other.T)
    np.testing.assert_allclose(found, expected, atol=1e-6, rtol=1e-5)


def test_inner_tensors_may_be_outputs():
    model = Model()
    kernel, meant = model.kernel()
    sums = model.dense(kernel)
    mask = model.sigmoid(sums)
    factor = model.constant(model.random(1, 1, WIDTH))
    masked = model.binary("MUL", mask, factor, (1, 1, WIDTH))
    _, y, *found = model.run(sums, mask, masked)
    expected = y @ meant.T
    np.testing.assert_allclose(found[0], expected, atol=1e-6, rtol=1e-5)
    np.testing.assert_allclose(found[1], sigmoid(expected), atol=1e-6)
    # What the mask is multiplied with is another one in every model.
    assert not np.array_equal(found[2], found[1])


def test_sums_that_another_operator_reads():
    model = Model()
    kernel, meant = model.kernel()
    sums = model.dense(kernel)
    mask = model.sigmoid(sums)
    product = model.binary("MUL", sums, mask, (1, 1, WIDTH))
    count, y, found = model.run(product)
    expected = y @ meant.T
    assert count == 2
    np.testing.assert_allclose(found, expected * sigmoid(expected), atol=1e-6)


def test_norm():
    model = Model()
    output, gamma, beta = model.norm()
    count, y, found = model.run(output)
    assert count == 2
    deviation = np.sqrt(y.var(axis=-1, keepdims=True) + 1e-3)
    expected = (y - y.mean(axis=-1, keepdims=True)) / deviation * gamma + beta
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("calls", [2, 3, 62])
@pytest.mark.parametrize("least", [1.0, -1e9])
def test_window(calls, least):
    model = Model()
    ring, joined, mean = model.window(calls, least=least)
    count, y, old, new, found = model.run(ring, joined, mean)
    assert count == 2
    expected = np.concatenate([old[:, 1:], y], axis=1)
    np.testing.assert_array_equal(new, expected)
    sums = expected.astype("float64").sum(axis=1)
    np.testing.assert_allclose(
        found, sums[:, :-1] / max(sums[0, -1], least), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("name", ["rest", "sums", "last", "count"])
def test_windows_whose_inner_tensors_are_outputs_are_left_to_tflite(name):
    model = Model()
    ring, joined, mean = model.window(5)
    count, y, old, new, found, inner = model.run(
        ring, joined, mean, model.inner[name]
    )
    assert count == 1
    np.testing.assert_array_equal(new, np.concatenate([old[:, 1:], y], axis=1))
    sums = new.sum(axis=1)
    expected = {
        "rest": old[:, 1:],
        "sums": sums,
        "last": sums[:, -1:],
        "count": np.maximum(sums[:, -1:], 1),
    }
    np.testing.assert_allclose(inner, expected[name], rtol=1e-5, atol=1e-6)
    expected = sums[:, :-1] / np.maximum(sums[:, -1:], 1)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["mean", "deviation", "scaled"])
def test_norms_whose_inner_tensors_are_outputs_are_left_to_tflite(name):
    model = Model()
    output, gamma, beta = model.norm()
    count, y, found, inner = model.run(output, model.inner[name])
    assert count == 1
    deviation = 1 / np.sqrt(y.var(axis=-1, keepdims=True) + 1e-3)
    expected = {
        "mean": y.mean(axis=-1, keepdims=True),
        "deviation": deviation,
        "scaled": y * deviation * gamma,
    }
    np.testing.assert_allclose(inner, expected[name], atol=1e-5)
    expected = (y - y.mean(axis=-1, keepdims=True)) * deviation * gamma + beta
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("changes", [{"first": 0}, {"fused": RELU}])
def test_other_windows_are_left_to_tflite(changes):
    model = Model()
    ring, joined, mean = model.window(5, **changes)
    count, y, old, new, found = model.run(ring, joined, mean)
    assert count == 1
    first = changes.get("first", 1)
    expected = np.concatenate([old[:, first : first + 4], y], axis=1)
    np.testing.assert_array_equal(new, expected)
    sums = expected.sum(axis=1)
    expected = sums[:, :-1] / np.maximum(sums[:, -1:], 1)
    if "fused" in changes:
        expected = np.maximum(expected, 0)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_what_is_not_exactly_so_is_left_to_tflite():
    model = Model()
    kernel, meant = model.kernel()
    count, y, found = model.run(model.dense(kernel, activation=RELU6))
    assert count == 1
    expected = np.clip(y @ meant.T, 0, 6)
    np.testing.assert_allclose(found, expected, atol=1e-6, rtol=1e-5)
    model = Model(steps=3)
    kernel, meant = model.kernel()
    output, _, _ = model.norm()
    count, y, found, _ = model.run(model.dense(kernel), output)
    assert count == 1
    np.testing.assert_allclose(found, y @ meant.T, atol=1e-6, rtol=1e-5)
    model = Model(signature=[-1, -1, FEATURES])
    model.graph.graph.tensors[model.y].shapeSignature = [-1, -1, UNITS]
    kernel, _ = model.kernel()
    assert model.run(model.dense(kernel))[0] == 1
    model = Model()
    output, _, _ = model.norm(axis=1)
    assert model.run(output)[0] == 1


def test_a_model_without_sparse_operators_is_left_alone():
    graph = models.Graph()
    x = graph.input((1, UNITS))
    kernel = graph.constant(np.ones((WIDTH, UNITS), "float32"))
    y = graph.builtin(
        "FULLY_CONNECTED",
        [x, kernel, -1],
        (1, WIDTH),
        kind="FullyConnectedOptions",
    )
    handle = native.new_handle()
    delegate = litert.load_delegate(native.library_path(), {"handle": handle})
    interpreter = litert.Interpreter(
        model_content=graph.bytes([y]),
        experimental_delegates=[delegate],
        experimental_op_resolver_type=(
            litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        ),
    )
    interpreter.allocate_tensors()
    names = [d["op_name"] for d in interpreter._get_ops_details()]
    assert names == ["FULLY_CONNECTED"]
