"""Batches through `tf.data`, into a model of any backend."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from datasets import base
from datasets.batches import IntentBatches
from datasets.batches import KeywordBatches
from datasets.enhancement_batches import EnhancementBatches
from datasets.pipeline import to_dataset


def dataset(task):
    rng = np.random.default_rng(0)

    def audio(samples):
        return (3000 * rng.standard_normal(samples)).astype("int16")

    if task == "kws":
        items = [base.Clip(audio(1600), i % 3) for i in range(20)]
    elif task == "slu":
        items = [
            base.Clip(audio(int(n)), (i % 3,))
            for i, n in enumerate(rng.integers(500, 3000, 20))
        ]
    else:
        items = [base.Mixture(str(i), audio(2000)) for i in range(20)]
    return base.Dataset(
        task,
        task,
        {"train": items, "validation": items[:5], "test": items[:5]},
        tuple("abc"),
        noises=(audio(5000),),
        snrs_db=(0.0,),
    )


MAKERS = {
    "kws": lambda **k: KeywordBatches(
        dataset("kws"), batch_size=4, samples=1600, max_shift=100, **k
    ),
    "slu": lambda **k: IntentBatches(
        dataset("slu"), batch_size=4, pad_multiple=512, **k
    ),
    "se": lambda **k: EnhancementBatches(
        dataset("se"), batch_size=4, segment=1000, **k
    ),
}


@pytest.mark.any_backend
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("task", MAKERS)
def test_a_dataset_serves_the_batches_from_any_step_on(task, training):
    split = "train" if training else "test"
    batches = MAKERS[task](split=split, training=training, seed=3)
    first, last = 1, 2 * len(batches) + 1
    served = list(to_dataset(batches, first, last, 3).as_numpy_iterator())
    assert len(served) == last - first
    for step, batch in zip(range(first, last), served):
        tf.nest.map_structure(
            np.testing.assert_array_equal, batch, batches[step]
        )


@pytest.mark.any_backend
@pytest.mark.parametrize("task", MAKERS)
def test_shapes_are_known_before_the_first_batch(task):
    batches = MAKERS[task](split="train", training=True)
    spec = to_dataset(batches).element_spec
    batch = batches[0]
    for known, array in zip(tf.nest.flatten(spec), tf.nest.flatten(batch)):
        assert known.dtype == array.dtype
        assert known.shape.is_compatible_with(array.shape)
        assert known.shape.rank == array.ndim
    assert int(to_dataset(batches, 2).cardinality()) == len(batches) - 2


def test_a_model_learns_from_it():
    batches = MAKERS["kws"](split="train", training=True, seed=1)

    def train(*stretches):
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((1600,)), keras.layers.Dense(3)])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("sgd", loss)
        for first, last in stretches:
            model.fit(to_dataset(batches, first, last), verbose=0)
        return model.get_weights()

    total = 2 * len(batches)
    straight = train((0, total))
    # Stopped in the middle of an epoch, and gone on.
    resumed = train((0, 3), (3, total))
    for a, b in zip(straight, resumed):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_a_model_restores_whole_utterances():
    inputs = keras.Input((None,))
    model = keras.Model(inputs, keras.layers.Rescaling(0.5)(inputs))
    model.compile(loss="mse")
    batches = MAKERS["se"](split="test")
    assert np.isfinite(model.evaluate(to_dataset(batches), verbose=0))
