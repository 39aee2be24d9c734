"""Models that are wrong are refused with a reason, and nothing crashes."""

import numpy as np
import pytest

from keras_duspar import operators
from tests.native import common
from tests.native import models

pytestmark = pytest.mark.any_backend

N, M = 7, 5
SHAPES = [(1, 4, N), (1, M), (1, N)]
OUTPUTS = [(1, 4, M), (1, M), (1, N)]


def build(
    weights=None,
    weight_type="float32",
    shapes=None,
    x_type="float32",
    options=None,
    missing=None,
    variable=None,
    swap_output=None,
    count=None,
    raw_options=None,
    op="DuSpaR",
    operands=None,
):
    """A correct model of one layer with one thing changed."""
    stored, _ = common.make_weights("duspar", N, M, weight_type)
    stored.update(weights or {})
    graph = models.Graph()
    inputs = [
        graph.input(shape, x_type if k == 0 else "float32")
        for k, shape in enumerate(shapes or SHAPES)
    ]
    operator = operators.BY_NAME["DuSpaR"]
    names = [weight.name for weight in operator.weights]
    if weight_type == "int8":
        names += [weight.scale_name for weight in operator.kernels]
    if operands is not None:
        stored.setdefault("operand_scales", np.ones(2, "float32"))
        names.append("operand_scales")
    for name in names:
        if name == variable:
            inputs.append(graph.input(stored[name].shape))
        else:
            inputs.append(graph.constant(stored[name]))
    outputs = [graph.tensor(shape) for shape in OUTPUTS]
    if missing is not None:
        inputs[missing] = -1
    if swap_output is not None:
        outputs[1] = inputs[swap_output]
    if count is not None:
        inputs = inputs[:count]
    if raw_options is None:
        changes = {"units": M, "weights": weight_type, "operands": operands}
        changes.update(options or {})
        raw_options = models.options(**changes)
    graph.custom(op, inputs, outputs, raw_options)
    return graph.bytes(outputs)


def zeros(*shape, dtype="float32"):
    return np.zeros(shape, dtype)


GATE = "feedforward/gate_kernel"
CASES = {
    "x of rank 2": (
        {"shapes": [(4, N), *SHAPES[1:]]},
        r"`x` must have the shape \(batch, steps, features\), not \(4, 7\)",
    ),
    "x of integers": ({"x_type": "int32"}, "`x` must have TFLite's type 1"),
    "width of f0": (
        {"shapes": [SHAPES[0], (1, M + 1), SHAPES[2]]},
        r"`f0` must have the shape \(1, 5\), not \(1, 6\)",
    ),
    "batch of g0": (
        {"shapes": [*SHAPES[:2], (2, N)]},
        r"`g0` must have the shape \(1, 7\), not \(2, 7\)",
    ),
    "kernel turned over": (
        {"weights": {GATE: zeros(M, N)}},
        r"`feedforward.gate_kernel` must have the shape \(7, 5\)",
    ),
    "kernel of rank 1": (
        {"weights": {GATE: zeros(N * M)}},
        r"`feedforward.gate_kernel` must have the shape \(7, 5\), not \(35\)",
    ),
    "kernel of another type": (
        {"weights": {GATE: zeros(N, M, dtype="int8")}},
        "`feedforward.gate_kernel` must have TFLite's type 1, not 9",
    ),
    "bias of another size": (
        {"weights": {"feedback_bias": zeros(M)}},
        r"`feedback_bias` must have the shape \(7\), not \(5\)",
    ),
    "scale of another size": (
        {"weight_type": "int8", "weights": {"feedback/gate_scale": zeros(1)}},
        r"`feedback.gate_kernel's scale` must have the shape \(7\), not \(1\)",
    ),
    "kernel that is no constant": (
        {"variable": GATE},
        "`feedforward.gate_kernel` must be a constant",
    ),
    "bias that is no constant": (
        {"variable": "feedforward_bias"},
        "`feedforward_bias` must be a constant",
    ),
    "no x": ({"missing": 0}, "`x` is missing"),
    "no state": ({"missing": 2}, "`g0` is missing"),
    "no kernel": ({"missing": 5}, "`feedback.gate_kernel` is missing"),
    "too few inputs": ({"count": 9}, "must have 11 inputs and 3 outputs"),
    "inputs of the other operator": (
        {"op": "SpaR"},
        "must have 5 inputs and 2 outputs, not 11 and 3",
    ),
    "int8 without scales": (
        {"options": {"weights": "int8"}},
        "must have 15 inputs and 3 outputs, not 11",
    ),
    "unknown operands": (
        {"weight_type": "int8", "options": {"operands": "int8"}},
        "`operands` must be one of 'float32', 'uint7', 'uint8'",
    ),
    "integers times floats": (
        {"options": {"operands": "uint8"}},
        "`operands` can be 'uint8' only if `weights` is 'int8'",
    ),
    "no scales of operands": (
        {"weight_type": "int8", "options": {"operands": "uint7"}},
        "must have 16 inputs and 3 outputs, not 15",
    ),
    "scales of operands for floats": (
        {
            "weight_type": "int8",
            "operands": "uint8",
            "options": {"operands": "float32"},
        },
        "must have 15 inputs and 3 outputs, not 16",
    ),
    "scales of operands of another size": (
        {
            "weight_type": "int8",
            "operands": "uint8",
            "weights": {"operand_scales": np.ones(1, "float32")},
        },
        r"`operand_scales` must have the shape \(2\), not \(1\)",
    ),
    "scale of an operand of 0": (
        {
            "weight_type": "int8",
            "operands": "uint8",
            "weights": {"operand_scales": np.array([1, 0], "float32")},
        },
        "`feedback.operand_scale` must be a finite number above 0.*not 0",
    ),
    "scales of operands that are no constant": (
        {
            "weight_type": "int8",
            "operands": "uint8",
            "variable": "operand_scales",
        },
        "`operand_scales` must be a constant",
    ),
    # These two LiteRT does not even give to a delegate.
    "output that is a constant": ({"swap_output": 9}, "unresolved custom op"),
    "output that is an input": ({"swap_output": 1}, "unresolved custom op"),
    "version to come": ({"options": {"version": 2}}, "version 2.*update"),
    "no version": ({"options": {"version": None}}, "`version` is missing"),
    "version as text": ({"options": {"version": "1"}}, "`version` is no int"),
    "no units": ({"options": {"units": None}}, "`units` is missing"),
    "units of 0": ({"options": {"units": 0}}, "`units` must be in 1 to"),
    "negative units": ({"options": {"units": -5}}, "`units` must.* not -5"),
    "units beyond int": ({"options": {"units": 2**40}}, "`units` must be in"),
    "many units": (
        {"options": {"units": 2**31 - 1}},
        r"`f0` must have the shape \(1, 2147483647\)",
    ),
    "units of another kernel": (
        {"options": {"units": M + 1}},
        r"`f0` must have the shape \(1, 6\), not \(1, 5\)",
    ),
    "unknown weights": (
        {"options": {"weights": "int4"}},
        "`weights` must be one of 'float32', 'bfloat16', 'int8'",
    ),
    "long name": ({"options": {"layer": "x" * 256}}, "`layer` .* 255 bytes"),
    "no options": ({"raw_options": b""}, "no FlexBuffers map"),
    "options of noise": ({"raw_options": bytes(range(60))}, "recurrent|''"),
    "options cut short": (
        {"raw_options": models.options()[:40]},
        "FlexBuffers|`version`",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_is_refused(name, runner):
    changes, message = CASES[name]
    with pytest.raises((RuntimeError, ValueError), match=message):
        run = runner(build(**changes))
        run.interpreter.allocate_tensors()
        run.interpreter.invoke()


def test_the_correct_model_runs(runner):
    """The case above all others: nothing but the change was wrong."""
    for weight_type, operands in (
        ("float32", None),
        ("bfloat16", None),
        ("int8", None),
        ("int8", "uint7"),
        ("int8", "uint8"),
    ):
        run = runner(build(weight_type=weight_type, operands=operands))
        run.interpreter.allocate_tensors()
        run.interpreter.invoke()


def test_longest_name(runner):
    run = runner(build(options={"layer": "x" * 255, "unknown": [1, 2]}))
    run.interpreter.allocate_tensors()
    assert run.operators()[0].layer == "x" * 255


def test_bad_resize_is_refused_and_mended(runner):
    """After a refusal the same interpreter works with right shapes."""
    run = runner(build())
    good = [np.ones(shape, "float32") for shape in SHAPES]
    run(*good)
    with pytest.raises(RuntimeError, match=r"`f0` must have the shape \(2"):
        run(np.ones((2, 4, N)), *good[1:])
    with pytest.raises(RuntimeError, match=r"`feedforward.gate_kernel` must"):
        run(np.ones((1, 4, N + 1)), good[1], np.ones((1, N + 1)))
    assert np.isfinite(run(*good)[0]).all()
