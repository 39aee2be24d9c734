import keras
import numpy as np
import pytest

from keras_duspar.audio import SpecAugment


def masked(layer, shape):
    features = np.ones(shape, "float32")
    return keras.ops.convert_to_numpy(layer(features, training=True)) == 0


def test_inference_is_the_identity():
    features = np.random.default_rng(0).standard_normal((2, 20, 16))
    features = features.astype("float32")
    output = SpecAugment(seed=0)(features, training=False)
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(output), features)


def test_masks_are_whole_bands_and_frames_within_the_limits():
    hidden = masked(
        SpecAugment(max_bands=8, max_frames=5, seed=0), (400, 61, 64)
    )
    bands = hidden.all(axis=1).sum(axis=1)
    frames = hidden.all(axis=2).sum(axis=1)
    # Nothing else than whole bands and whole frames is hidden.
    np.testing.assert_array_equal(
        hidden, hidden.all(axis=1)[:, None] | hidden.all(axis=2)[:, :, None]
    )
    assert set(bands) == set(range(9))
    assert set(frames) == set(range(6))
    assert np.diff(hidden.all(axis=1).astype(int), axis=1).clip(0).sum() > 0
    # In one piece each.
    for mask in (hidden.all(axis=1), hidden.all(axis=2)):
        padded = np.pad(mask.astype(int), ((0, 0), (1, 1)))
        assert (np.diff(padded, axis=1) == 1).sum(axis=1).max() == 1
    # Every position is hidden at some time, the edges too.
    assert hidden.any(axis=(0, 1)).all()
    assert hidden.any(axis=(0, 2)).all()


def test_no_more_than_half_is_hidden():
    hidden = masked(
        SpecAugment(max_bands=50, max_frames=50, seed=0), (200, 4, 6)
    )
    assert hidden.all(axis=1).sum(axis=1).max() == 3
    assert hidden.all(axis=2).sum(axis=1).max() == 2


def test_masks_can_be_left_out():
    assert not masked(SpecAugment(band_masks=0, frame_masks=0), (9, 9, 9)).any()
    only = masked(SpecAugment(band_masks=0, seed=1), (50, 30, 9))
    assert not only.all(axis=1).any()
    assert only.any()


def test_a_seed_fixes_the_masks_and_they_change_with_every_call():
    first, second = SpecAugment(seed=3), SpecAugment(seed=3)
    a, b = masked(first, (8, 30, 30)), masked(first, (8, 30, 30))
    np.testing.assert_array_equal(a, masked(second, (8, 30, 30)))
    assert (a != b).any()


@pytest.mark.parametrize("dtype", ["float32", "mixed_float16"])
def test_in_a_model_of_any_length(tmp_path, dtype):
    inputs = keras.Input((None, 12))
    outputs = SpecAugment(4, 4, seed=5, dtype=dtype)(inputs)
    model = keras.Model(inputs, keras.layers.GlobalAveragePooling1D()(outputs))
    model.compile("sgd", "mse")
    x = np.ones((4, 10, 12), "float32")
    model.fit(x, np.zeros((4, 12)), verbose=0)
    model.save(tmp_path / "m.keras")
    loaded = keras.saving.load_model(tmp_path / "m.keras")
    assert loaded.layers[1].get_config() == model.layers[1].get_config()
    np.testing.assert_allclose(
        model.predict(x, verbose=0), loaded.predict(x, verbose=0)
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"max_bands": 0}, "`max_bands` must be a positive integer"),
        ({"max_frames": 1.5}, "`max_frames` must be a positive integer"),
        ({"band_masks": -1}, "`band_masks` must be a positive integer"),
        ({"frame_masks": "a"}, "`frame_masks` must be a positive integer"),
    ],
)
@pytest.mark.any_backend
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        SpecAugment(**arguments)


@pytest.mark.any_backend
def test_bad_shape():
    with pytest.raises(ValueError, match=r"`inputs` of SpecAugment"):
        SpecAugment()(np.zeros((2, 3), "float32"))
