"""The kernels for TFLite Micro, in the interpreter of `tflite-micro`."""

import ctypes
import os
import subprocess

import numpy as np
import pytest

from keras_duspar import native
from keras_duspar import tflite
from keras_duspar.tflite import flatbuffer
from tests.conftest import ROOT
from tests.kits.tools import program
from tests.native import common
from tests.native import models
from tests.native import test_malformed
from tests.native.conftest import Runner

pytestmark = pytest.mark.any_backend

FEATURES, UNITS = 7, 5
# Functions of TFLite Micro for `duspar_micro_functions`, as C++ names them.
NAMES = [
    "36MicroContextAllocatePersistentBufferEPNS0_13TfLiteContextEm",
    "39MicroContextRequestScratchBufferInArenaEPNS0_13TfLiteContextEmPi",
    "28MicroContextGetScratchBufferEPNS0_13TfLiteContextEi",
    "25MicroContextGetEvalTensorEPKNS0_13TfLiteContextEi",
    "25MicroContextReportOpErrorEPNS0_13TfLiteContextEPKcz",
]


class Record(ctypes.Structure):
    """`duspar_micro_operator`."""


Record._fields_ = [
    ("layer", ctypes.c_char_p),
    ("op", ctypes.c_char_p),
    ("features", ctypes.c_int32),
    ("units", ctypes.c_int32),
    ("counts", native.interface.Counts),
    ("next", ctypes.POINTER(Record)),
]


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory):
    """Makes interpreters that know our operators."""
    runtime = pytest.importorskip("tflite_micro").runtime
    library = native.load()
    there = ctypes.CDLL(runtime._runtime.__file__)
    try:
        found = [getattr(there, f"_ZN6tflite5micro{name}") for name in NAMES]
    except AttributeError:
        pytest.skip("this tflite-micro is not of October 2026 or newer")
    addresses = [ctypes.cast(f, ctypes.c_void_p).value for f in found]
    library.duspar_micro_use((ctypes.c_void_p * len(NAMES))(*addresses))
    path = tmp_path_factory.mktemp("micro") / "registerer.so"
    subprocess.run(
        [
            *(program("cc", "gcc"), "-shared", "-fPIC", "-Wall", "-Werror"),
            ROOT / "tests" / "tflite" / "micro_registerer.c",
            *("-I", ROOT / "tflite" / "src", "-I", ROOT / "tflite/include"),
            *(native.library_path(), "-o", path),
            f"-Wl,-rpath,{os.path.dirname(native.library_path())}",
        ],
        check=True,
    )
    ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)

    def make(content, arena_size=1 << 18):
        return runtime.Interpreter.from_bytes(
            content, ["register_duspar"], arena_size
        )

    return make


def operators():
    """What all living operators have counted, in the model's order."""
    function = native.load().duspar_micro_operators
    function.restype = ctypes.POINTER(Record)
    found, record = [], function()
    while record:
        r = record.contents
        found.append(
            (
                r.layer.decode(),
                r.op.decode(),
                r.features,
                r.units,
                r.counts.invocations,
                r.counts.steps,
                *r.counts.nonzeros[: 2 if r.op == b"DuSpaR" else 1],
            )
        )
        record = r.next
    return found[::-1]


def as_micro(operator):
    """A `native.Operator` in the form of `operators()`."""
    return (
        operator.layer,
        operator.op,
        operator.features,
        operator.units,
        operator.invocations,
        operator.steps,
        *(operand.nonzeros for operand in operator.operands),
    )


def call(micro, *arrays):
    for i, array in enumerate(arrays):
        micro.set_input(np.asarray(array, "float32"), i)
    micro.invoke()


@pytest.mark.parametrize("kind", ["duspar", "spar"])
@common.EVERY_ROUNDING
def test_equals_the_delegate(kind, weights, operands, interpreter, rng):
    stored, _ = common.make_weights(kind, FEATURES, UNITS, weights)
    count = 2 if kind == "duspar" else 1
    stored["operand_scales"] = np.full(count, 0.02, "float32")
    batch, steps = 2, 6
    content = models.one_layer(
        common.OPS[kind],
        stored,
        FEATURES,
        UNITS,
        batch,
        steps,
        weight_type=weights,
        operands=operands,
    )
    delegate, micro = Runner(content), interpreter(content)
    for _ in range(3):
        x = rng.normal(size=(batch, steps, FEATURES)).astype("float32")
        states = common.random_states(kind, rng, batch, FEATURES, UNITS)
        expected = delegate(x, *states)
        call(micro, x, *states)
        for i, array in enumerate(expected):
            np.testing.assert_allclose(micro.get_output(i), array, atol=2e-6)
    assert operators() == [as_micro(o) for o in delegate.operators()]
    del micro
    assert operators() == []


def test_nan_spreads_and_tiny_states_become_zero(interpreter):
    stored, _ = common.make_weights("spar", FEATURES, UNITS)
    content = models.one_layer("SpaR", stored, FEATURES, UNITS, steps=1)
    micro = interpreter(content)
    x = np.full((1, 1, FEATURES), -1.0)
    call(micro, x, np.full((1, UNITS), 1e-35))
    assert (micro.get_output(1) == 0).all()
    x[0, 0, 0] = np.nan
    call(micro, x, np.zeros((1, UNITS)))
    assert np.isnan(micro.get_output(0)).all()


def compare_steps(runner, micro, rng):
    """The outputs of 20 chunks, and in the end what the file has counted."""
    inputs, outputs = (
        [next(n for n, k in names.items() if k == i) for i in ends]
        for names, ends in zip(
            (runner.signature.inputs, runner.signature.outputs),
            runner.file.ends,
        )
    )
    values = {n: np.zeros(s, "float32") for n, s in runner.states.items()}
    ((chunk, shape),) = runner.inputs.items()
    (output,) = runner.outputs
    total = 0
    for _ in range(20):
        values[chunk] = rng.uniform(-0.5, 0.5, shape).astype("float32")
        call(micro, *(values[n] for n in inputs))
        expected = runner.step(values[chunk])
        values = {n: micro.get_output(i) for i, n in enumerate(outputs)}
        np.testing.assert_allclose(values[output], expected, atol=1e-5)
        total = total + values.get("counts", 0)
    return total


@pytest.mark.parametrize("count", [False, True])
def test_builtin_operators(count, convert, interpreter, rng):
    """A file without our operators, which also counts for itself."""
    path = convert("enhancer", streaming=True, ops="builtin", count=count)
    runner = tflite.load(path, delegate=False)
    assert not {
        flatbuffer.operator_name(o)
        for o in runner.file.operators
        if any(runner.file.tensors[0][i].dtype == "int64" for i in o.outputs)
    }
    total = compare_steps(runner, interpreter(path.read_bytes()), rng)
    if count:
        found = runner._counting._totals
        np.testing.assert_allclose(total, found, rtol=2e-3)


@pytest.mark.parametrize(
    "name, options",
    [
        ("spotter", {}),
        ("enhancer", {}),
        ("recognizer", {"frames": 16}),
    ],
)
def test_models(name, options, convert, interpreter, rng):
    """Streaming files of the three models, log-mel and all."""
    path = convert(name, streaming=True, ops="sparse", **options)
    runner = tflite.load(path)
    micro = interpreter(path.read_bytes())
    compare_steps(runner, micro, rng)
    found = [as_micro(o) for o in native.operators(runner._handle)]
    # A rounding error may turn the sign of an entry.
    for ours, theirs in zip(operators(), found, strict=True):
        assert ours[:6] == theirs[:6]
        np.testing.assert_allclose(ours[6:], theirs[6:], rtol=2e-3)


@pytest.mark.parametrize("name", ["width of f0", "kernel turned over"])
def test_is_refused(name, interpreter, capfd):
    changes, message = test_malformed.CASES[name]
    with pytest.raises(RuntimeError, match="failed to allocate tensors"):
        interpreter(test_malformed.build(**changes))
    assert "layer 'recurrent'" in capfd.readouterr().err
    assert operators() == []


def test_memory_comes_from_the_arena(interpreter, capfd):
    """Weights stay in the file: they would not fit."""
    stored, _ = common.make_weights("duspar", 64, 64)
    content = models.one_layer("DuSpaR", stored, 64, 64, steps=1)
    assert len(content) > 4 * 4 * 64 * 64
    micro = interpreter(content, arena_size=8192)
    call(micro, *(np.ones(s) for s in ((1, 1, 64), (1, 64), (1, 64))))
    assert np.isfinite(micro.get_output(0)).all()
    with pytest.raises(RuntimeError, match="failed to allocate tensors"):
        interpreter(content, arena_size=2048)
