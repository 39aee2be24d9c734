"""The operators as kernels of LiteRT 2's compiled model."""

import gc

import numpy as np
import pytest

import keras_duspar
from keras_duspar import native
from keras_duspar import tflite
from keras_duspar.tflite import compiled
from keras_duspar.tflite import flatbuffer
from tests.conftest import ROOT
from tests.helpers import check_occupancy
from tests.native import common
from tests.native import models
from tests.native import test_malformed

pytestmark = pytest.mark.any_backend

FEATURES, UNITS = 7, 5
KEPT = ROOT / "tests" / "kept" / "0.1.0"


@pytest.fixture(autouse=True)
def litert2():
    try:
        compiled.load_litert()
    except (ImportError, OSError) as e:
        pytest.skip(str(e))


@pytest.fixture
def compiled_runner(tmp_path):
    """Makes a compiled model of a file's content."""

    def make(content, kind=compiled.Compiled):
        path = tmp_path / "model.tflite"
        path.write_bytes(content)
        handle = native.new_handle()
        model = kind(str(path), flatbuffer.File(content), handle)
        model.handle = handle
        return model

    return make


def call(model, *arrays):
    inputs, outputs = model._inputs, model._outputs
    for index, array in zip(inputs, arrays):
        model.resize_tensor_input(index, array.shape)
    model.allocate_tensors()
    for index, array in zip(inputs, arrays):
        model.set_tensor(index, array)
    model.invoke()
    return [model.get_tensor(index) for index in outputs]


def check_same(first, second, arrays):
    """Outputs and counts of the delegate and of the kernels are the same."""
    for a, b in zip(first(*arrays), call(second, *arrays), strict=True):
        np.testing.assert_array_equal(a, b)
    assert first.operators() == native.operators(second.handle)


@pytest.mark.parametrize("kind", ["duspar", "spar"])
@common.EVERY_ROUNDING
def test_equals_the_delegate(
    kind, weights, operands, runner, compiled_runner, rng
):
    stored, _ = common.make_weights(kind, FEATURES, UNITS, weights)
    count = 2 if kind == "duspar" else 1
    stored["operand_scales"] = np.full(count, 0.02, "float32")
    content = models.one_layer(
        common.OPS[kind],
        stored,
        FEATURES,
        UNITS,
        weight_type=weights,
        operands=operands,
    )
    first, second = runner(content), compiled_runner(content)
    for batch, steps in ((1, 4), (3, 9), (1, 1), (1, 4)):
        x = rng.normal(size=(batch, steps, FEATURES)).astype("float32")
        states = common.random_states(kind, rng, batch, FEATURES, UNITS)
        check_same(first, second, [x, *states])


def test_operators_are_told_apart(runner, compiled_runner, rng):
    """Layers of one size, which LiteRT shows under one name."""
    weights = [
        common.make_weights("duspar", UNITS, UNITS, seed=k)[0] for k in (1, 2)
    ]
    # The first one once more, with constants of its own that are the same.
    content = models.stack([*weights, weights[0]], UNITS, UNITS)
    first, second = runner(content), compiled_runner(content)
    x = rng.normal(size=(1, 4, UNITS)).astype("float32")
    for _ in range(3):
        check_same(first, second, [x])


def test_a_layer_that_is_used_twice(runner, compiled_runner, rng):
    """The same constants twice: the operators take turns."""
    stored, _ = common.make_weights("spar", UNITS, UNITS)
    graph = models.Graph()
    x = graph.input((1, 4, UNITS))
    state = graph.constant(np.zeros((1, UNITS), "float32"))
    names = ["gate_kernel", "candidate_kernel", "gate_bias"]
    constants = [state, *(graph.constant(stored[n]) for n in names)]
    for layer in ("first", "second"):
        y, f = graph.tensor((1, 4, UNITS)), graph.tensor((1, UNITS))
        options = models.options(units=UNITS, layer=layer)
        graph.custom("SpaR", [x, *constants], [y, f], options)
        x = y
    content = graph.bytes([x])
    first, second = runner(content), compiled_runner(content)
    x = rng.normal(size=(1, 4, UNITS)).astype("float32")
    for _ in range(3):
        check_same(first, second, [x])
    counts = [o.operands[0].nonzeros for o in first.operators()]
    assert counts[0] != counts[1]


AUDIO = (np.random.default_rng(3).normal(size=8000) / 10).astype("float32")


@pytest.mark.parametrize(
    "path, streaming",
    [
        ("kws_duspar_128_commands12", False),
        ("kws_duspar_128_commands12", True),
        ("se_duspar_116_vbd", True),
        (KEPT / "spotter.tflite", False),
        (KEPT / "enhancer.tflite", False),
    ],
)
def test_models(path, streaming):
    """The same numbers and counts as with the delegate.

    In every bit, but for streams, whose dense layers the delegate computes.
    """
    first, second = (
        tflite.load(path, streaming=streaming, runtime=runtime)
        for runtime in ("interpreter", "compiled")
    )
    for _ in range(2):
        a, b = first(AUDIO), second(AUDIO)
        np.testing.assert_allclose(a, b, atol=1e-5 if first.streaming else 0)
    if not first.streaming:
        counts = (native.operators(r._handle) for r in (first, second))
        assert next(counts) == next(counts)
        assert first.occupancy() == second.occupancy() != {}
        return
    check_occupancy(first, second)
    first.reset_counters(), second.reset_counters()
    chunk = AUDIO[: first.samples]
    a, b = first.step(chunk), second.step(chunk)
    np.testing.assert_allclose(a, b, atol=1e-5)
    assert first.profile().steps == second.profile().steps


def test_threads():
    paths = ["kws_duspar_128_commands12"] * 2
    one, two = (
        tflite.load(path, num_threads=n, runtime="compiled")
        for n, path in enumerate(paths, start=1)
    )
    batch = np.stack([AUDIO, AUDIO[::-1]])
    np.testing.assert_allclose(one(batch), two(batch), atol=1e-6)
    assert one.occupancy() == two.occupancy()


def test_builtin_file():
    """Nothing of ours is needed, and nothing is loaded."""
    first, second = (
        tflite.load(KEPT / "builtin.tflite", delegate=False, runtime=runtime)
        for runtime in ("interpreter", "compiled")
    )
    np.testing.assert_array_equal(first(AUDIO), second(AUDIO))
    assert second._handle is None


def test_output_of_an_unknown_shape():
    """Which LiteRT 2 would leave as it was."""
    runner = tflite.load("se_duspar_116_vbd", runtime="compiled")
    with pytest.raises(RuntimeError, match="a shape that only the run tells"):
        runner(AUDIO)


# These two LiteRT refuses before a delegate sees them.
OWN = "`output f` must be a tensor of its own that can be written"
MESSAGES = {
    "output that is a constant": OWN,
    "output that is an input": OWN,
}


@pytest.mark.parametrize("name", test_malformed.CASES)
def test_is_refused(name, compiled_runner):
    """Before LiteRT gets it, which would not ask whether it went well."""
    changes, message = test_malformed.CASES[name]
    with pytest.raises(ValueError, match=MESSAGES.get(name, message)):
        compiled_runner(test_malformed.build(**changes))


def test_damaged_files(compiled_runner):
    """Bytes that are missing or others: an error or a model, no crash."""
    library, functions = native.load(), compiled.interface.LiteRtFunctions
    filled = functions(*[1] * len(functions._fields_))  # not called here
    delegate = library.tflite_plugin_create_delegate(None, None, 0, None)
    content = test_malformed.build()
    rng = np.random.default_rng(1)

    def create(content):
        made = library.duspar_litert_create(
            delegate, content, len(content), filled, 1
        )
        library.duspar_litert_destroy(made)
        return made

    assert create(content)
    assert not any(create(content[:n]) for n in range(0, len(content) // 2, 7))
    assert b"whole .tflite file" in library.duspar_last_error()
    for _ in range(2000):
        changed = bytearray(content)
        for place in rng.integers(0, len(content), 3):
            changed[place] = rng.integers(256)
        create(bytes(changed))
    assert not create(b"none")
    assert b"`bytes` must be a .tflite file" in library.duspar_last_error()
    library.tflite_plugin_destroy_delegate(delegate)


def test_file_without_our_operators(compiled_runner):
    with pytest.raises(ValueError, match="with operators of this library"):
        compiled_runner((KEPT / "builtin.tflite").read_bytes())


def log_mel(hop):
    """Options of a front end."""
    return models.options(hop=hop, layer=f"mel{hop}", units=None, weights=None)


def test_operators_that_litert_cannot_tell_apart(compiled_runner):
    graph = models.Graph()
    audio = graph.input((1, 128))
    constants = [
        np.ones(32, "float32"),
        np.ones(1, "float32"),
        np.array([[0, 1]], "int32"),
        *[np.ones(1, "float32")] * 3,
    ]
    inputs = [audio, *map(graph.constant, constants)]
    outputs = [graph.tensor((1, 4, 1)), graph.tensor((1, 7, 1))]
    for hop, output in zip((32, 16), outputs):
        graph.custom("DuSpaRLogMel", inputs, [output], log_mel(hop))
    with pytest.raises(ValueError, match="differ in `hop` alone"):
        compiled_runner(graph.bytes(outputs))


def test_failure_in_a_run(compiled_runner, rng):
    """LiteRT goes on; the outputs are NaN, and the error is raised."""
    stored, _ = common.make_weights("spar", FEATURES, UNITS)
    content = models.one_layer("SpaR", stored, FEATURES, UNITS)
    other = compiled_runner(content)

    class Mistaken(compiled.Compiled):
        def _file(self):
            return other._file()  # whose constants are elsewhere

    model = compiled_runner(content, Mistaken)
    arrays = [np.ones((1, 4, FEATURES)), np.zeros((1, UNITS))]
    with pytest.raises(RuntimeError, match="'SpaR' are not where they must be"):
        call(model, *arrays)
    assert all(np.isnan(model.get_tensor(i)).all() for i in model._outputs)
    assert np.isfinite(call(other, *arrays)[0]).all()


def test_bad_shapes(compiled_runner):
    """Refused before the run, and mended."""
    content = test_malformed.build()
    stored, _ = common.make_weights("spar", FEATURES, UNITS)
    graph = models.Graph()
    x = graph.input((1, 4, FEATURES), signature=[-1, -1, -1])
    f0 = graph.input((1, UNITS), signature=[-1, -1])
    outputs = models.add_layer(
        graph, "SpaR", stored, x, [f0], [(1, 4, UNITS), (1, UNITS)], *LAYER
    )
    content = graph.bytes(outputs)
    model = compiled_runner(content)
    good = [np.ones((1, 4, FEATURES)), np.ones((1, UNITS))]
    call(model, *good)
    with pytest.raises(RuntimeError, match=r"`f0` must have the shape \(2, 5"):
        call(model, np.ones((2, 4, FEATURES)), good[1])
    with pytest.raises(RuntimeError, match=r"`gate_kernel` must have the shap"):
        call(model, np.ones((1, 4, FEATURES + 1)), good[1])
    assert np.isfinite(call(model, *good)[0]).all()


LAYER = ("float32", "l")


def test_end_of_a_model():
    """The counters go with the runner."""
    runner = tflite.load("kws_duspar_128_commands12", runtime="compiled")
    handle = runner._handle
    assert native.operators(handle)
    del runner
    gc.collect()
    with pytest.raises(ValueError, match="a living delegate"):
        native.operators(handle)


def test_bad_runtime():
    with pytest.raises(ValueError, match="`runtime` must be one of"):
        keras_duspar.tflite.load(KEPT / "spotter.tflite", runtime="litert")


def test_old_litert(monkeypatch, tmp_path):
    class Spec:
        origin = str(tmp_path / "__init__.py")

    find = compiled.importlib.util.find_spec
    monkeypatch.setattr(
        compiled.importlib.util,
        "find_spec",
        lambda name: Spec if name == "ai_edge_litert" else find(name),
    )
    with pytest.raises(ImportError, match="needs LiteRT 2.2 or newer"):
        compiled.load_litert.__wrapped__()
