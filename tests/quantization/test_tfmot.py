"""Quantizers and schedules of tensorflow-model-optimization."""

import os

import keras
import numpy as np
import pytest
from keras import ops

import keras_duspar
from keras_duspar import quantization
from keras_duspar.callbacks import Prune
from tests.helpers import assert_close
from tests.helpers import randomize

pytestmark = pytest.mark.any_backend


@pytest.fixture(scope="module")
def tfmot():
    pytest.importorskip("tensorflow")
    try:
        return quantization.load_tfmot()
    except ImportError:
        pytest.skip("tensorflow-model-optimization is not installed")


def last_value(tfmot, **changes):
    arguments = {
        "num_bits": 8,
        "per_axis": True,
        "symmetric": True,
        "narrow_range": True,
    }
    quantizers = tfmot.quantization.keras.quantizers
    return quantizers.LastValueQuantizer(**{**arguments, **changes})


@pytest.fixture
def model():
    model = keras.Sequential(
        [
            keras.Input((None, 5)),
            keras_duspar.DuSpaR(6, return_sequences=True),
            keras.layers.Dense(3),
        ]
    )
    randomize(model, 0.5)
    return model


def only_tensorflow():
    if keras.backend.backend() != "tensorflow":
        pytest.skip("its quantizers need TensorFlow")


def test_tf_keras_is_undisturbed(tfmot):
    import tensorflow as tf

    assert tf.keras.Model is keras.Model or (
        keras.backend.backend() != "tensorflow"
    )
    assert "TF_USE_LEGACY_KERAS" not in os.environ


def test_equals_our_own(tfmot, model, rng, tmp_path):
    only_tensorflow()
    x = rng.normal(size=(4, 6, 5)).astype("float32")
    schemes = (
        keras_duspar.QuantScheme("int8", "float32"),
        keras_duspar.QuantScheme(last_value(tfmot), "float32"),
    )
    ours, theirs = (keras_duspar.quantize(model, s) for s in schemes)
    for quantized in (ours, theirs):
        quantized.compile(keras.optimizers.SGD(0.0), "mse")
        quantized.train_on_batch(x, np.zeros((4, 6, 3)))
    layers = [
        quantization.model.quantized_layers(m).values() for m in (ours, theirs)
    ]
    for first, second in zip(*layers):
        for a, b in zip(first.kernels, second.kernels):
            assert_close(
                second.quantizer.rounded_kernel(b),
                first.quantizer.rounded_kernel(a),
                atol=1e-6,
            )
    assert_close(theirs(x), ours(x), atol=1e-5)
    theirs.compile(keras.optimizers.SGD(0.1), "mse")
    before = ops.convert_to_numpy(theirs.weights[0])
    theirs.train_on_batch(x, np.zeros((4, 6, 3)))
    assert np.abs(ops.convert_to_numpy(theirs.weights[0]) - before).max() > 0
    theirs.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert_close(loaded(x), theirs(x), atol=1e-6)
    assert loaded.layers[0].quantization == schemes[1]


def test_operands(tfmot, model, rng):
    only_tensorflow()
    quantizers = tfmot.quantization.keras.quantizers
    operands = quantizers.MovingAverageQuantizer(
        num_bits=8, per_axis=False, symmetric=False, narrow_range=False
    )
    scheme = keras_duspar.QuantScheme("int8", operands)
    quantized = keras_duspar.quantize(model, scheme)
    x = rng.normal(size=(4, 6, 5)).astype("float32")
    quantized.compile("sgd", "mse")
    assert np.isfinite(quantized.train_on_batch(x, np.zeros((4, 6, 3))))
    assert_close(quantized(x), model(x), atol=0.1)


def test_pruning_schedules(tfmot):
    schedule = tfmot.sparsity.keras.PolynomialDecay(
        0.0, 0.5, begin_step=0, end_step=4, frequency=1
    )
    found = [schedule(step) for step in range(5)]
    ours = keras_duspar.pruning.Ramp(0.5, 0, 4, 1)
    for step, (now, share) in enumerate(found):
        assert (bool(now), float(share)) == pytest.approx(ours(step))
    prune = Prune(schedule)
    prune.set_model(
        keras.Sequential([keras.Input((4,)), keras.layers.Dense(6)])
    )
    if keras.backend.backend() == "jax":
        return
    prune.on_train_begin()
    for step in range(5):
        prune.on_train_batch_end(step)
    assert keras_duspar.pruning.weight_density(prune.model.layers) == 0.5


def test_other_objects_and_backends(tfmot):
    with pytest.raises(ValueError, match="`weights` must be a string or"):
        keras_duspar.QuantScheme(weights=object())
    if keras.backend.backend() != "tensorflow":
        with pytest.raises(ValueError, match="TensorFlow backend"):
            keras_duspar.QuantScheme(last_value(tfmot), "float32")
