"""The paper's three models, and its table to the digit."""

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar.models import group_samples
from keras_duspar.models import intent_recognizer
from keras_duspar.models import keyword_spotter
from keras_duspar.models import speech_enhancer
from tests.helpers import assert_close
from tests.helpers import randomize
from tests.helpers import to_numpy

BUILDERS = (keyword_spotter, intent_recognizer, speech_enhancer)
EVERY_MODEL = pytest.mark.parametrize("build", BUILDERS)


@pytest.fixture
def audio(rng):
    return rng.normal(0, 0.1, (2, 8000)).astype("float32")


# Rows of the table: builder, layer, units, parameters, dense MAC/s.
TABLE = [
    (keyword_spotter, "duspar", 128, 103_715, 6_424_000),
    (keyword_spotter, "gru", 96, 105_923, 6_546_000),
    (intent_recognizer, "duspar", 128, 103_328, 3_088_000),
    (intent_recognizer, "gru", 96, 105_632, 3_756_000),
    (speech_enhancer, "duspar", 116, 238_760, 236_412_176),
    (speech_enhancer, "gru", 96, 239_456, 236_780_544),
]


@pytest.mark.parametrize("build, layer, units, params, macs", TABLE)
def test_table_to_the_digit(build, layer, units, params, macs, audio):
    model = build(layer, units)
    rate = 1001 if build is speech_enhancer else None
    profile = keras_duspar.profile(model, audio[:1, :4800], rate)
    assert sum(np.prod(w.shape) for w in model.trainable_weights) == params
    assert profile.params == params
    assert profile.dense_macs == macs


@pytest.mark.parametrize(
    "build, occupancy",
    [
        (keyword_spotter, 67.74),
        (intent_recognizer, 66.77),
        (speech_enhancer, 68.83),
    ],
)
def test_dynamic_gru_occupancy(build, occupancy, audio):
    profile = keras_duspar.profile(build("dynamic_gru", 96), audio[:1, :4800])
    assert round(100 * profile.occupancy, 2) == occupancy


def test_one_second_is_1001_frames_of_the_enhancer():
    model = speech_enhancer("spar", 4, samples=16000)
    assert model.get_layer("frames").output.shape == (None, 1001, 32)


@EVERY_MODEL
@pytest.mark.parametrize("layer", keras_duspar.layers.names())
def test_takes_every_layer(build, layer):
    model = build(layer, 6)
    kinds = {type(model.get_layer("recurrent_1"))}
    assert kinds == {keras_duspar.layers.get(layer)}
    audio_in = model.inputs[0]
    assert audio_in.name == "audio" and audio_in.shape == (None, None)


@EVERY_MODEL
def test_save_and_load(build, audio, tmp_path):
    model = build("duspar", 6)
    randomize(model, 0.3)
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert_close(loaded(audio), model(audio), atol=1e-6)


@EVERY_MODEL
def test_trains(build, audio):
    model = build("duspar", 6)
    target = np.ones_like(to_numpy(model(audio[:, :4800])))
    model.compile(keras.optimizers.Adam(0.01), "mse")
    losses = [
        float(model.train_on_batch(audio[:, :4800], target)) for _ in range(3)
    ]
    assert losses[-1] < losses[0]


def test_lengths_and_shapes(audio):
    assert tuple(keyword_spotter("duspar", 6)(audio).shape) == (2, 35)
    assert tuple(keyword_spotter("gru", 6, 12)(audio).shape) == (2, 12)
    # 8000 samples are 31 frames, then 7, then 1.
    assert tuple(intent_recognizer("duspar", 6)(audio).shape) == (2, 1, 32)
    model = intent_recognizer("spar", 6, pool_size=3, num_layers=3)
    assert group_samples(model) == 256 * 3**3
    for samples in (16, 17, 1000):
        model = speech_enhancer("duspar", 6)
        assert tuple(model(audio[:, :samples]).shape) == (2, samples)


def test_enhancer_is_causal(audio):
    """A sample may change the output from 32 samples before it onwards."""
    model = speech_enhancer("duspar", 6)
    randomize(model, 0.5)
    changed = audio.copy()
    changed[:, 4000] += 1
    before, after = to_numpy(model(audio)), to_numpy(model(changed))
    moved = np.abs(after - before).max(axis=0) > 1e-7
    assert moved.any() and not moved[: 4000 - 31].any()


@pytest.mark.parametrize(
    "layer, units, arguments",
    [
        ("duspar", 116, {}),
        ("gru", 96, {"mask_activation": "relu"}),
        ("gru", 64, {"hop_length": 8}),
        ("spar", 40, {"num_layers": 1, "mask_floor": 0.5}),
    ],
)
def test_enhancer_begins_as_identity(layer, units, arguments, audio):
    model = speech_enhancer(layer, units, **arguments)
    audio = audio[:, :2000]
    enhanced = to_numpy(model(audio))
    ratio = np.sum(audio**2) / np.sum((enhanced - audio) ** 2)
    assert 10 * np.log10(ratio) > 25


def test_mask_floor_keeps_a_share_of_every_feature(audio):
    model = speech_enhancer("spar", 40, num_layers=1, mask_floor=0.25)
    model.get_layer("mask").bias.assign(np.full(40, -100.0))  # a mask of 0
    silent = speech_enhancer("spar", 40, num_layers=1)
    silent.set_weights(model.get_weights())
    audio = audio[:, :2000]
    assert_close(silent(audio), np.zeros_like(audio), atol=1e-6)
    # sigmoid(1) is the mask that decoder and encoder are made for.
    start = 0.25 + 0.75 / (1 + np.exp(-1))
    expected = 0.25 / start * audio
    error = np.sum((to_numpy(model(audio)) - expected) ** 2)
    assert error < 1e-3 * np.sum(expected**2)
    with pytest.raises(ValueError, match="`mask_floor`"):
        speech_enhancer("spar", 40, mask_floor=1.0)


def test_encoder_begins_as_fourier_transform():
    model = speech_enhancer("spar", 32, num_layers=1)
    kernel = to_numpy(model.get_layer("encoder").kernel)
    time = np.arange(32)
    window = np.sin(np.pi * time / 32)
    # Features 8 and 9, the fifth pair, are the parts of one coefficient of a
    # transform whose frequencies lie halfway between the usual ones.
    wave = np.exp(-2j * np.pi * (4 + 0.5) / 32 * (time - 15.5))
    signal = np.random.default_rng(0).normal(size=32)
    expected = np.sum(window * wave * signal) / 4
    parts = np.array([expected.real, -expected.imag])
    features = signal @ kernel
    assert_close(features[8:10], parts, atol=1e-6)
    # Every other pair has the other sign.
    wave = np.exp(-2j * np.pi * (5 + 0.5) / 32 * (time - 15.5))
    expected = np.sum(window * wave * signal) / 4
    parts = np.array([expected.real, -expected.imag])
    assert_close(features[10:12], -parts, atol=1e-6)


def test_options_reach_the_layers():
    model = keyword_spotter("delta_gru", 6, options={"theta": 0.5})
    assert model.get_layer("recurrent_2").theta == 0.5
    model = keyword_spotter("duspar", 6, num_layers=3)
    assert model.get_layer("recurrent_3").units == 6


def test_mixed_precision(audio):
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        models = [build("duspar", 6) for build in BUILDERS]
    finally:
        keras.config.set_dtype_policy(policy)
    for model in models:
        output = model(audio)
        assert keras.backend.standardize_dtype(output.dtype) == "float32"
        assert np.isfinite(to_numpy(output)).all()


@EVERY_MODEL
def test_bad_arguments(build):
    with pytest.raises(ValueError, match="one of 'delta_gru', 'duspar'"):
        build("no such layer")
    with pytest.raises(ValueError, match="`units` must be a positive integer"):
        build("duspar", 0)
    with pytest.raises(ValueError, match="`num_layers` must be"):
        build(num_layers=0)
    with pytest.raises(ValueError, match="`options` must be a dictionary"):
        build(options=3)
    with pytest.raises(ValueError, match="`samples` must be"):
        build(samples=-1)


LABELS = ["yes", "no", "sí"]


@pytest.mark.parametrize("build", BUILDERS[:2])
def test_labels_are_saved(build, tmp_path):
    model = build("duspar", 4, labels=LABELS)
    assert model.output_shape[-1] == 3 + (build is intent_recognizer)
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    rounded = keras_duspar.quantize(loaded, "int8")
    task = "kws" if build is keyword_spotter else "slu"
    for found in (model, loaded, rounded):
        assert (found.task, found.labels) == (task, LABELS)
    assert build("duspar", 4).labels is None
    assert speech_enhancer("spar", 4, num_layers=1).task == "se"


@pytest.mark.parametrize("build", BUILDERS[:2])
@pytest.mark.parametrize(
    "labels",
    [[], "yes", 3, ["yes", ""], ["yes", "no", "yes"], ["yes", None, "no"]],
)
def test_bad_labels(build, labels):
    with pytest.raises(ValueError, match="`labels` must be a list of"):
        build("spar", 4, labels=labels)
    count = "num_classes" if build is keyword_spotter else "num_intents"
    for wrong in (2, 4):
        with pytest.raises(ValueError, match="`labels` must be.*Received 3"):
            build("spar", 4, labels=LABELS, **{count: wrong})


def test_bad_classes():
    with pytest.raises(ValueError, match="`num_classes` must be"):
        keyword_spotter(num_classes=0)
    with pytest.raises(ValueError, match="`num_intents` must be"):
        intent_recognizer(num_intents=2.5)
    with pytest.raises(ValueError, match="`pool_size` must be"):
        intent_recognizer(pool_size=0)
    with pytest.raises(ValueError, match="`hop_length` must be a divisor"):
        speech_enhancer(frame_length=32, hop_length=12)


@EVERY_MODEL
def test_integers_are_refused(build, tmp_path):
    built = build("duspar", 4)
    built.save(tmp_path / "model.keras")
    integers = np.full((2, 8000), 3000, "int16")
    for model in (built, keras.models.load_model(tmp_path / "model.keras")):
        outputs = model.predict(integers / 32768, verbose=0)
        for use in (model, model.predict_on_batch):
            with pytest.raises(ValueError, match="`inputs` must.*by 32768"):
                use(integers)
        # Floats as large are seen where there are values.
        with pytest.raises(ValueError, match="`inputs` must.*up to 3000"):
            model(integers.astype("float32"))
        model.compile(loss="mse")
        for use in (model.predict, model.evaluate, model.fit):
            with pytest.raises(ValueError, match="`x` must.*by 32768"):
                use(integers)
            with pytest.raises(ValueError, match="`x` must.*up to 3000"):
                use(integers.astype("float32"))
        # The model is as it was.
        again = model.predict(integers / 32768, verbose=0)
        np.testing.assert_array_equal(again, outputs)


@pytest.mark.parametrize("shape", [(4000,), (1, 4000, 2)])
def test_audio_of_another_rank_harms_no_model(shape):
    """On JAX an error within a loop would leave it without its weights."""
    model = keyword_spotter("spar", 4, num_layers=1)
    for method in (model.predict, model.evaluate, model.fit):
        with pytest.raises(ValueError, match=r"`x` must be audio of shape"):
            method(np.zeros(shape, "float32"), verbose=0)
    assert np.isfinite(model.get_weights()[0]).all()
