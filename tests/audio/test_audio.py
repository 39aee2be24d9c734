"""The audio front end against librosa and against plain loops."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_duspar.audio import Frames
from keras_duspar.audio import LogMel
from keras_duspar.audio import OverlapAdd
from keras_duspar.audio import TemporalPooling
from keras_duspar.audio import mel_filters
from tests.helpers import assert_close
from tests.helpers import to_numpy


@pytest.fixture
def audio(rng):
    return rng.normal(0, 0.1, (2, 4000)).astype("float32")


@pytest.fixture(scope="module")
def recordings(speech_data):
    """A dozen real recordings of different length."""
    soundfile = pytest.importorskip("soundfile")
    paths = sorted(speech_data.glob("kws/*/*.flac"))[::700]
    paths += sorted(speech_data.glob("slu/wavs/*.flac"))[::200]
    return [soundfile.read(path, dtype="float32")[0] for path in paths]


def librosa_log_mel(audio):
    librosa = pytest.importorskip("librosa")
    power = librosa.feature.melspectrogram(
        y=audio,
        sr=16000,
        n_fft=512,
        hop_length=256,
        center=False,
        n_mels=64,
        fmin=50,
        fmax=8000,
    )
    return np.log(power + 1e-6).T


def test_log_mel_equals_librosa(recordings):
    layer = LogMel()
    for audio in recordings:
        assert_close(layer(audio[None])[0], librosa_log_mel(audio), atol=1e-3)


def test_log_mel_equals_librosa_on_noise(audio):
    expected = np.stack([librosa_log_mel(a) for a in audio])
    assert_close(LogMel()(audio), expected, atol=1e-3)


@pytest.mark.any_backend
@pytest.mark.parametrize(
    "settings",
    [
        (16000, 512, 64, 50, 8000),
        (8000, 256, 20, 0, 4000),
        (48000, 1024, 40, 20, 2e4),
    ],
)
def test_mel_filters_equal_librosa(settings):
    librosa = pytest.importorskip("librosa")
    rate, length, bands, low, high = settings
    expected = librosa.filters.mel(
        sr=rate, n_fft=length, n_mels=bands, fmin=low, fmax=high
    )
    np.testing.assert_allclose(mel_filters(*settings), expected.T, atol=1e-7)


def test_causal_frames_are_the_stream(audio):
    """Every 256 new samples make one frame, silence came before."""
    layer = LogMel(padding="causal")
    padded = np.pad(audio, [[0, 0], [256, 0]])
    assert_close(layer(audio), LogMel()(padded), atol=1e-5)
    assert layer(audio).shape[1] == 4000 // 256


def test_adapt(recordings, tmp_path):
    layer = LogMel()
    layer.adapt(recordings)
    features = np.concatenate([to_numpy(layer(a[None]))[0] for a in recordings])
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(features.std(axis=0), 1, atol=1e-3)
    model = keras.Sequential([keras.Input((None,)), layer])
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert_close(loaded(recordings[0][None]), layer(recordings[0][None]))
    assert not layer.trainable_weights


def test_adapt_takes_arrays_and_batches(audio):
    statistics = []
    for data in (audio, [audio[:1], audio[1:]], list(audio), iter(audio)):
        layer = LogMel()
        layer.adapt(data)
        statistics.append(layer.get_weights())
    for other in statistics[1:]:
        assert_close(other, statistics[0])


def test_adapt_of_silence_keeps_numbers_small():
    layer = LogMel()
    layer.adapt(np.zeros((1, 2000), "float32"))
    output = to_numpy(layer(np.zeros((1, 2000), "float32")))
    assert np.abs(output).max() < 1e-3


def test_computes_in_float32_under_any_policy(audio):
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_float16")
    try:
        layer = LogMel()
    finally:
        keras.config.set_dtype_policy(policy)
    assert_close(layer(audio), LogMel()(audio), atol=0)


@pytest.mark.parametrize("padding", ["valid", "causal", "full"])
@pytest.mark.parametrize("samples", [64, 65, 80, 95])
def test_frames_equal_a_loop(padding, samples, rng):
    audio = rng.normal(size=(2, samples)).astype("float32")
    before = 0 if padding == "valid" else 24
    after = 24 + -samples % 8 if padding == "full" else 0
    padded = np.pad(audio, [[0, 0], [before, after]])
    count = (padded.shape[1] - 32) // 8 + 1
    expected = np.stack(
        [padded[:, i * 8 : i * 8 + 32] for i in range(count)], axis=1
    )
    layer = Frames(32, 8, padding)
    assert_close(layer(audio), expected, atol=0)
    assert layer.compute_output_shape(audio.shape) == expected.shape
    symbolic = keras.Input((None,))
    model = keras.Model(symbolic, layer(symbolic))
    assert_close(model.predict_on_batch(audio), expected, atol=0)


@pytest.mark.parametrize("samples", [16, 32, 100, 16000])
def test_overlap_add_undoes_frames(samples, rng):
    audio = rng.normal(size=(2, samples)).astype("float32")
    frames = Frames(32, 16, "full")(audio)
    assert frames.shape[1] == -(-samples // 16) + 1
    assert_close(OverlapAdd(16)(frames, like=audio), audio, atol=1e-6)
    longer = to_numpy(OverlapAdd(16)(frames))
    assert longer.shape[1] == -(-samples // 16) * 16
    np.testing.assert_allclose(longer[:, :samples], audio, atol=1e-6)


def test_overlap_add_equals_a_loop(rng):
    frames = rng.normal(size=(1, 7, 12)).astype("float32")
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(12) / 12)
    total = np.zeros(6 * 4 + 12)
    for i in range(7):
        total[i * 4 : i * 4 + 12] += window * frames[0, i]
    assert_close(OverlapAdd(4)(frames)[0], total[8:-8])


def test_masks_are_those_of_shorter_recordings(audio):
    """Padding behind a recording leaves as many frames as it would have."""
    mask = np.zeros((2, 4000), bool)
    lengths = (4000, 1333)
    for row, length in zip(mask, lengths):
        row[:length] = True
    for layer in (
        LogMel(),
        LogMel(padding="causal"),
        Frames(32, 16, "full"),
        Frames(32, 16),
    ):
        layer(audio)
        frames = to_numpy(
            layer.compute_mask(audio, ops.convert_to_tensor(mask))
        )
        for row, length in zip(frames, lengths):
            alone = layer(audio[:1, :length]).shape[1]
            assert row[:alone].all() and not row[alone:].any()


def test_pooling(rng):
    x = rng.normal(size=(2, 11, 3)).astype("float32")
    expected = np.stack([x[:, :4].mean(axis=1), x[:, 4:8].mean(axis=1)], axis=1)
    layer = TemporalPooling(4)
    assert_close(layer(x), expected, atol=1e-6)
    mask = np.arange(11) < np.array([[11], [7]])
    pooled = to_numpy(layer.compute_mask(x, ops.convert_to_tensor(mask)))
    assert pooled.tolist() == [[True, True], [True, False]]


@pytest.mark.parametrize(
    "layer",
    [
        Frames(32, 8, "full", 16000, name="a"),
        OverlapAdd(8, name="b"),
        LogMel(bands=20, low_hz=0, padding="causal", name="c"),
        TemporalPooling(3, name="d"),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_config_round_trip(layer):
    config = layer.get_config()
    assert type(layer).from_config(config).get_config() == config


# Bad input


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Frames(0, 1), "`frame_length` must be a positive integer"),
        (lambda: Frames(32, 5), "`hop_length` must be a divisor"),
        (lambda: Frames(32, 16, "same"), "`padding` must be one of"),
        (lambda: Frames(32, 16, sample_rate=0), "`sample_rate` must be"),
        (lambda: LogMel(bands=0), "`bands` must be a positive integer"),
        (lambda: LogMel(high_hz=9000), "`high_hz` must be a number in"),
        (lambda: LogMel(low_hz=8000), "`low_hz` must be a number in"),
        (lambda: LogMel(offset=0), "`offset` must be a number in"),
        (lambda: LogMel(padding="full"), "`padding` must be one of"),
        (lambda: OverlapAdd(-1), "`hop_length` must be a positive integer"),
        (lambda: TemporalPooling(0), "`pool_size` must be a positive"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_bad_audio():
    with pytest.raises(ValueError, match="must be of shape `.batch, samples"):
        LogMel()(np.zeros((1, 1000, 1), "float32"))
    with pytest.raises(ValueError, match="at least one frame, 512 with"):
        LogMel()(np.zeros((1, 511), "float32"))
    with pytest.raises(ValueError, match="at least one frame"):
        Frames(32, 16, "causal")(np.zeros((1, 15), "float32"))
    with pytest.raises(ValueError, match="`hop_length` must be a divisor"):
        OverlapAdd(5)(np.zeros((1, 3, 32), "float32"))
    with pytest.raises(ValueError, match="at least `pool_size`, 4"):
        TemporalPooling(4)(np.zeros((1, 3, 2), "float32"))


@pytest.mark.parametrize("layer", [LogMel(), Frames(32, 16)])
def test_audio_must_be_floats_near_full_scale(layer):
    loud = np.zeros((2, 1000), "float32")
    layer(loud)
    loud[1, 7] = -8  # as much as is taken
    layer(loud)
    loud[1, 7] = -8.1
    with pytest.raises(ValueError, match="`audio` must be floats.*to 8.1"):
        layer(loud)
    for dtype in ("int16", "int32", "uint8"):
        with pytest.raises(ValueError, match="`audio` must be.*by 32768"):
            layer(np.ones((2, 1000), dtype))


def test_bad_adapt_data():
    with pytest.raises(ValueError, match="`data` must be floats.*to 1000"):
        LogMel().adapt(np.full((1, 1000), 1000.0))
    with pytest.raises(ValueError, match="`data` must be finite"):
        LogMel().adapt(np.full((1, 1000), np.nan, "float32"))
    with pytest.raises(ValueError, match="Divide 16-bit samples by 32768"):
        LogMel().adapt(np.ones((1, 1000), "int16"))
    with pytest.raises(ValueError, match="`data` must be at least one"):
        LogMel().adapt([])
