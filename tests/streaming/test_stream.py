"""A stream gives what the model makes of the whole recording."""

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar import models
from keras_duspar.streaming import Stream
from tests import reference
from tests.helpers import assert_close
from tests.helpers import randomize
from tests.helpers import to_numpy
from tests.helpers import weights_of

BUILDERS = {
    "kws": lambda name, layers: models.keyword_spotter(
        name, 6, num_classes=5, num_layers=layers
    ),
    # 2 frames, with two layers 2 x 2, make a group.
    "slu": lambda name, layers: models.intent_recognizer(
        name, 6, num_intents=4, pool_size=2, num_layers=layers
    ),
    "se": lambda name, layers: models.speech_enhancer(
        name, 6, num_layers=layers
    ),
}
SAMPLES = {"kws": 256 * 11 + 100, "slu": 256 * 11, "se": 16 * 23 + 5}


def build(task, name, rng, layers=2):
    """A model with random weights, and audio for it."""
    model = BUILDERS[task](name, layers)
    randomize(model, 0.3)
    audio = rng.normal(0, 0.1, (2, SAMPLES[task])).astype("float32")
    if task != "se":
        model.get_layer("log_mel").adapt(audio)
    return model, audio


def push_all(stream, audio, rng):
    """Pushes audio in random pieces, and joins what comes out."""
    longest = max(2, audio.shape[1] // 3)
    outputs, start = [], 0
    while start < audio.shape[1]:
        size = int(rng.integers(0, longest))
        outputs.append(stream.push(audio[:, start : start + size]))
        start += size
    outputs.append(stream.finish())
    if stream.model.output.shape[1:] == outputs[-1].shape[1:]:
        return outputs[-1]  # one vector for a recording
    return np.concatenate(outputs, axis=1)


# Every layer in every model, and every number of frames with each.
CASES = [
    (task, name, (1, 3, 16)[(i + j) % 3])
    for i, name in enumerate(keras_duspar.layers.names())
    for j, task in enumerate(BUILDERS)
]
CASES += [(task, "duspar", n) for task in BUILDERS for n in (1, 3, 16)]


@pytest.mark.parametrize("task, name, frames", sorted(set(CASES)))
def test_stream_equals_whole(task, name, frames, rng):
    layers = 2 if name == "duspar" else 1
    model, audio = build(task, name, rng, layers)
    stream = Stream(model, frames)
    actual = push_all(stream, audio, rng)
    expected = to_numpy(model(audio))
    assert actual.shape == expected.shape
    assert_close(actual, expected, 2e-5)


def test_sizes_and_names():
    spotter = Stream(BUILDERS["kws"]("duspar", 2), frames=2)
    assert (spotter.samples, spotter.delay, spotter.static) == (512, 0, True)
    state = spotter.initial_state(3)
    assert {name: tuple(s.shape) for name, s in state.items()} == {
        "log_mel/history": (3, 256),
        "recurrent_1/f": (3, 6),
        "recurrent_1/g": (3, 64),
        "recurrent_2/f": (3, 6),
        "recurrent_2/g": (3, 6),
        "logits/sum": (3, 5),
        "logits/count": (3, 1),
    }
    enhancer = Stream(BUILDERS["se"]("delta_gru", 2))
    assert (enhancer.samples, enhancer.delay) == (16, 16)
    assert {"recurrent_2/x_hat", "overlap_add/tail"} < set(enhancer.states)
    recognizer = Stream(BUILDERS["slu"]("gru", 2), frames=3)
    assert not recognizer.static
    assert {"pooling_1/history", "pooling_2/count"} < set(recognizer.states)
    recognizer = Stream(BUILDERS["slu"]("gru", 2))
    assert {"pooling_1/sum", "pooling_2/sum"} < set(recognizer.states)
    recognizer = Stream(BUILDERS["slu"]("gru", 2), frames=4)
    assert recognizer.static
    assert set(recognizer.states) == {
        "log_mel/history",
        "recurrent_1/h",
        "recurrent_2/h",
    }


def test_steps_against_numpy(rng):
    """The running mean after every frame, by the reference cells."""
    model, audio = build("kws", "duspar", rng)
    x = to_numpy(model.get_layer("log_mel")(audio))
    for name in ("recurrent_1", "recurrent_2"):
        x, _, _ = reference.run("duspar", weights_of(model.get_layer(name)), x)
    kernel, bias = to_numpy(model.get_layer("classifier").weights)
    scores = np.asarray(x) @ kernel + bias
    means = np.cumsum(scores, 1) / np.arange(1, 12)[:, np.newaxis]
    stream = Stream(model)
    state = stream.initial_state(2)
    for i in range(11):
        chunk = audio[:, 256 * i : 256 * (i + 1)]
        logits, state = stream.step(chunk, state)
        assert_close(logits, means[:, i], 1e-4)


def test_groups_come_when_they_are_complete(rng):
    model, audio = build("slu", "gru", rng)
    stream = Stream(model)
    state = stream.initial_state(2)
    expected, found = to_numpy(model(audio)), 0
    for i in range(11):
        chunk = audio[:, 256 * i : 256 * (i + 1)]
        logits, state = stream.step(chunk, state)
        assert tuple(logits.shape) == (2, int(i % 4 == 3), 5)
        if logits.shape[1]:
            assert_close(logits[:, 0], expected[:, found], 2e-5)
            found += 1
    assert found == 2


def test_delayed_audio(rng):
    """A step's samples come one hop late."""
    model, audio = build("se", "duspar", rng)
    stream = Stream(model)
    state = stream.initial_state(2)
    expected = to_numpy(model(audio))
    for i in range(20):
        chunk = audio[:, 16 * i : 16 * (i + 1)]
        clean, state = stream.step(chunk, state)
        if i:
            assert_close(clean, expected[:, 16 * (i - 1) : 16 * i], 2e-5)


def test_reset_and_finish_begin_a_new_recording(rng):
    model, audio = build("kws", "gru", rng)
    stream = Stream(model, frames=2)
    expected = to_numpy(model(audio))
    stream.push(rng.normal(0, 1, (3, 5000)))
    stream.reset()
    for _ in range(2):
        assert stream.push(audio[:, :511]) is None
        assert stream.push(audio[:, 511:600]) is not None
        stream.push(audio[:, 600:])
        assert_close(stream.finish(), expected, 2e-5)


def test_model_is_left_alone_and_new_weights_are_seen(rng):
    model, audio = build("kws", "duspar", rng)
    stream = Stream(model, frames=4)
    before = push_all(stream, audio, rng)
    for layer in model.layers:
        assert layer.output is not None  # raises if it was called twice
    assert_close(before, model(audio), 2e-5)
    randomize(model, 0.2, seed=9)
    after = push_all(stream, audio, rng)
    assert np.abs(after - before).max() > 1e-3
    assert_close(after, model(audio), 2e-5)


def test_recording_of_fixed_length(rng):
    model = models.speech_enhancer("gru", 4, num_layers=1, samples=160)
    audio = rng.normal(0, 0.1, (1, 160)).astype("float32")
    stream = Stream(model, frames=4)
    assert_close(push_all(stream, audio, rng), model(audio), 2e-5)


def test_frames_that_do_not_overlap(rng):
    model = models.speech_enhancer(
        "gru", 4, num_layers=1, frame_length=16, hop_length=16
    )
    audio = rng.normal(0, 0.1, (1, 75)).astype("float32")
    stream = Stream(model, frames=2)
    assert stream.delay == 0
    actual = push_all(stream, audio, rng)
    assert actual.shape == (1, 75)
    assert_close(actual, model(audio), 2e-5)


def test_mixed_precision(rng):
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model, audio = build("kws", "duspar", rng)
        stream = Stream(model, frames=4)
    finally:
        keras.config.set_dtype_policy("float32")
    assert stream.states["recurrent_1/f"].dtype == "float16"
    assert_close(push_all(stream, audio, rng), model(audio), 5e-3)


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="of TensorFlow"
)
def test_traced_shapes_are_static(rng):
    import tensorflow as tf

    for task in BUILDERS:
        model, audio = build(task, "duspar", rng)
        stream = Stream(model, frames=4)
        state = stream.initial_state()
        step = tf.function(stream.step).get_concrete_function(
            tf.TensorSpec((1, stream.samples)),
            {n: tf.TensorSpec(s.shape, s.dtype) for n, s in state.items()},
        )
        outputs, new = step.structured_outputs
        assert outputs.shape.is_fully_defined()
        for name, value in new.items():
            assert value.shape == state[name].shape


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="of TensorFlow"
)
def test_traced_pooling_has_states_of_static_shape(rng):
    import tensorflow as tf

    stream = Stream(BUILDERS["slu"]("duspar", 2))
    state = stream.initial_state()
    step = tf.function(stream.step).get_concrete_function(
        tf.TensorSpec((1, 256)),
        {n: tf.TensorSpec(s.shape, s.dtype) for n, s in state.items()},
    )
    outputs, new = step.structured_outputs
    assert outputs.shape.as_list()[::2] == [1, 5]
    for name, value in new.items():
        assert value.shape == state[name].shape, name


def test_bad_samples():
    stream = Stream(BUILDERS["kws"]("duspar", 2))
    with pytest.raises(ValueError, match="`samples` must be floats.*32768"):
        stream.push(np.ones((1, 256), "int16"))
    with pytest.raises(ValueError, match="`samples` must be finite"):
        stream.push(np.full((1, 256), np.nan))
    with pytest.raises(ValueError, match="`samples` must be floats.*to 50"):
        stream.push(np.full((1, 256), 50.0))


def test_odd_sounds(rng):
    """Silence, clipping, direct current, 1e-30; others change nothing."""
    model, audio = build("se", "duspar", rng)
    audio = audio[:1, :352]  # a chunk
    stream, fresh = Stream(model, 22), Stream(model, 22)
    first = stream.push(audio)
    for odd in (0, np.sign(audio), 1, -1, 1e-30):
        stream.push(np.broadcast_to(odd, audio.shape).astype("float32"))
        for bad in (np.nan, np.inf, -np.inf, 1e6):
            with pytest.raises(ValueError, match="`samples` must"):
                stream.push(np.full((1, 160), bad))
        for state in stream._state.values():
            sizes = np.abs(state[state != 0])
            assert np.isfinite(sizes).all() and (sizes > 2.0**-126).all()
    # What was heard dies away: in the end it is as if nothing had been.
    stream.push(np.zeros((1, 352 * 50), "float32"))
    fresh.push(np.zeros((1, 352 * 50), "float32"))
    found, expected = stream.push(audio), fresh.push(audio)
    assert np.ptp(first) > 0
    assert_close(found, expected, 1e-4)
