"""The delegate in LiteRT's interpreter."""

import gc
import threading

import numpy as np
import pytest

from keras_duspar import native
from tests import reference
from tests.native import common
from tests.native import models

pytestmark = pytest.mark.any_backend

FEATURES, UNITS = 7, 5


def make(kind, weight_type="float32", seed=0):
    """A model of one layer, and its weights as they are meant."""
    stored, meant = common.make_weights(
        kind, FEATURES, UNITS, weight_type, seed
    )
    content = models.one_layer(
        common.OPS[kind], stored, FEATURES, UNITS, weight_type=weight_type
    )
    return content, meant


def make_input(kind, rng, batch, steps):
    x = rng.normal(size=(batch, steps, FEATURES)).astype("float32")
    return x, common.random_states(kind, rng, batch, FEATURES, UNITS)


@pytest.mark.parametrize("kind", ["duspar", "spar"])
@pytest.mark.parametrize("weight_type", ["float32", "bfloat16", "int8"])
def test_agrees_with_reference(kind, weight_type, runner, rng):
    """Outputs, states and counts, for one shape after the other."""
    content, meant = make(kind, weight_type)
    run = runner(content)
    total, steps = np.zeros(2, int), 0
    shapes = ((1, 4), (3, 9), (1, 1), (2, 0), (1, 4))
    for times, (batch, length) in enumerate(shapes, start=1):
        x, states = make_input(kind, rng, batch, length)
        found = run(x, *states)
        if length == 0:
            assert found[0].shape == (batch, 0, UNITS)
            expected = states
        else:
            y, expected, operands = reference.run(kind, meant, x, states)
            np.testing.assert_allclose(found[0], y, atol=1e-5)
            counted = common.nonzeros(operands)
            total[: len(counted)] += counted
        steps += batch * length
        for a, b in zip(found[1:], expected):
            np.testing.assert_allclose(a, b, atol=1e-5)
        (operator,) = run.operators()
        nonzeros = [o.nonzeros for o in operator.operands]
        assert nonzeros == list(total[: len(nonzeros)])
        assert (operator.steps, operator.invocations) == (steps, times)
    assert operator.layer == "recurrent"
    assert operator.op == common.OPS[kind] and operator.in_use
    sizes = [(o.name, o.size, o.fan, o.entries) for o in operator.operands]
    e = ("e" if kind == "duspar" else "x", FEATURES, 2 * UNITS)
    y = ("y", UNITS, 2 * FEATURES)
    expected = [e, y] if kind == "duspar" else [e]
    assert sizes == [(*s, steps * s[1]) for s in expected]


def test_every_kernel(runner, rng):
    content, meant = make("duspar")
    x, states = make_input("duspar", rng, 2, 6)
    expected, _, _ = reference.run("duspar", meant, x, states)
    for kernel in native.kernels():
        run = runner(content, kernel=kernel)
        np.testing.assert_allclose(run(x, *states)[0], expected, atol=1e-5)
        assert run.operators()[0].kernel == kernel


def test_stacked_layers(runner, rng):
    """Neighbors, whose states nobody reads and which start from zeros."""
    pairs = [
        common.make_weights("duspar", n, UNITS, seed=n)
        for n in (FEATURES, UNITS, UNITS)
    ]
    # All layers but the first have the same width.
    content = models.stack([stored for stored, _ in pairs], FEATURES, UNITS)
    run = runner(content)
    x = rng.normal(size=(1, 12, FEATURES)).astype("float32")
    (y,) = run(x)
    expected = x
    for (_, meant), operator in zip(pairs, run.operators()):
        expected, _, operands = reference.run("duspar", meant, expected)
        found = [o.nonzeros for o in operator.operands]
        assert found == common.nonzeros(operands)
    np.testing.assert_allclose(y, expected, atol=1e-5)
    assert [o.layer for o in run.operators()] == ["l0", "l1", "l2"]


def test_as_many_operators_as_one_likes(runner, rng):
    stored, _ = common.make_weights("duspar", UNITS, UNITS)
    run = runner(models.stack([stored] * 300, UNITS, UNITS, steps=1))
    run(rng.normal(size=(1, 1, UNITS)))
    operators = run.operators()
    assert [o.layer for o in operators] == [f"l{i}" for i in range(300)]
    assert all(o.invocations == 1 for o in operators)


def test_two_signatures(runner, rng):
    """Operators with the same number in two subgraphs are two."""
    pairs = [
        common.make_weights("spar", FEATURES, UNITS, seed=k) for k in (1, 2)
    ]
    stored = [weights for weights, _ in pairs]
    run = runner(models.two_signatures(stored, FEATURES, UNITS))
    x = rng.normal(size=(1, 4, FEATURES)).astype("float32")
    for k, (_, meant) in enumerate(pairs):
        signature = run.interpreter.get_signature_runner(f"s{k}")
        for _ in range(k + 1):
            y = signature(x=x)["y"]
        expected, _, _ = reference.run("spar", meant, x)
        np.testing.assert_allclose(y, expected, atol=1e-5)
    counted = {o.layer: o.invocations for o in run.operators()}
    assert counted == {"s0": 1, "s1": 2}


@pytest.mark.parametrize("kept", [[0], [1], [2], [2, 0]])
def test_outputs_that_nobody_reads(kept, runner, rng):
    stored, meant = common.make_weights("duspar", FEATURES, UNITS)
    graph = models.Graph()
    shapes = [(1, 4, FEATURES), (1, UNITS), (1, FEATURES)]
    x, *states = [graph.input(shape) for shape in shapes]
    outputs = [(1, 4, UNITS), (1, UNITS), (1, FEATURES)]
    made = models.add_layer(
        graph, "DuSpaR", stored, x, states, outputs, "float32", "l"
    )
    run = runner(graph.bytes([made[k] for k in kept]))
    x, states = make_input("duspar", rng, 1, 4)
    y, after, _ = reference.run("duspar", meant, x, states)
    for found, k in zip(run(x, *states), kept):
        np.testing.assert_allclose(found, [y, *after][k], atol=1e-5)


def test_reset(runner, rng):
    content, _ = make("duspar")
    run = runner(content)
    x, states = make_input("duspar", rng, 1, 4)
    run(x, *states)
    before = run.operators()
    native.reset(run.handle)
    (operator,) = run.operators()
    assert operator.steps == operator.invocations == 0
    assert all(o.nonzeros == o.entries == 0 for o in operator.operands)
    run(x, *states)
    assert run.operators() == before


def test_interpreters_in_threads(runner, rng):
    """Each of them with the results and counts that it has alone."""
    content, meant = make("duspar")
    inputs = [make_input("duspar", rng, 1, 200) for _ in range(4)]
    runs = [runner(content) for _ in inputs]
    wrong = []

    def work(run, x, states):
        y, _, operands = reference.run("duspar", meant, x, states)
        run(x, *states)
        for _ in range(20):
            found = run(x, *states, allocate=False)
            if not np.allclose(found[0], y, atol=1e-4):
                wrong.append(np.abs(found[0] - y).max())
        counted = [o.nonzeros for o in run.operators()[0].operands]
        if counted != [21 * n for n in common.nonzeros(operands)]:
            wrong.append(counted)

    threads = [
        threading.Thread(target=work, args=(run, *arrays))
        for run, arrays in zip(runs, inputs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_counts_belong_together_while_running(runner, rng):
    """Read and reset in one thread, run in another: nothing is lost."""
    content, meant = make("duspar")
    run = runner(content)
    x, states = make_input("duspar", rng, 1, 30)
    _, _, operands = reference.run("duspar", meant, x, states)
    one = common.nonzeros(operands)
    run.resize(x, *states)
    run.interpreter.allocate_tensors()
    enough = threading.Event()

    def work():
        while not enough.is_set():
            run(x, *states, allocate=False)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        changes, last = 0, None
        while changes < 50:  # the other thread has run between two reads
            assert thread.is_alive()
            (operator,) = run.operators()
            times = operator.invocations
            assert operator.steps == 30 * times
            assert [o.nonzeros for o in operator.operands] == [
                times * n for n in one
            ]
            if times != last:
                changes, last = changes + 1, times
                if changes % 10 == 0:
                    native.reset(run.handle)
    finally:
        enough.set()
        thread.join()


def test_one_delegate_for_several_interpreters(runner, rng):
    first_content, first_meant = make("duspar", seed=1)
    second_content, second_meant = make("spar", seed=2)
    first = runner(first_content)
    second = runner(second_content, delegate=first.delegate)
    x, states = make_input("duspar", rng, 1, 4)
    for _ in range(3):
        y, *_ = first(x, *states)
        expected, _, _ = reference.run("duspar", first_meant, x, states)
        np.testing.assert_allclose(y, expected, atol=1e-5)
        y, *_ = second(x, states[0])
        expected, _, _ = reference.run("spar", second_meant, x, states[:1])
        np.testing.assert_allclose(y, expected, atol=1e-5)
    operators = first.operators()
    assert [(o.op, o.invocations) for o in operators] == [
        ("DuSpaR", 3),
        ("SpaR", 3),
    ]
    del second
    gc.collect()
    operators = first.operators()
    assert [o.in_use for o in operators] == [True, False]
    assert operators[1].invocations == 3


def test_delegate_destroyed_before_its_interpreter(runner, rng):
    """The interpreter runs on, is resized, and ends well."""
    content, meant = make("duspar")
    run = runner(content)
    x, states = make_input("duspar", rng, 1, 4)
    run(x, *states)
    # LiteRT keeps a reference; its destructor is what an application calls.
    run.delegate.__del__()
    with pytest.raises(ValueError, match="`handle` must be that of a living"):
        run.operators()
    x, states = make_input("duspar", rng, 2, 6)
    expected, _, _ = reference.run("duspar", meant, x, states)
    np.testing.assert_allclose(run(x, *states)[0], expected, atol=1e-5)
    run.interpreter = None
    gc.collect()


def test_handles(runner):
    content, _ = make("duspar")
    run = runner(content)
    with pytest.raises(ValueError, match="no living delegate has"):
        runner(content, handle=run.handle)
    with pytest.raises(ValueError, match="1 to 63 bytes"):
        runner(content, handle="x" * 64)
    with pytest.raises(ValueError, match="`handle` and `kernel`, not 'hand'"):
        runner(content, hand="x")
    with pytest.raises(ValueError, match="`kernel` must be .*'fast'"):
        runner(content, kernel="fast")
    with pytest.raises(ValueError, match="`handle` must be that of a living"):
        native.operators("unknown")
