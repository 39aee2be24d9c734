"""Batches through `tf.data`: made ahead of the training step, in parallel."""

import os

import tensorflow as tf


def to_dataset(batches, first_step=0, last_step=None, parallel_calls=None):
    """Serves batches to `keras.Model.fit` on any backend.

    The order of the batches is fixed however many are made at a time.

    Args:
        batches: A `steps.Batches`.
        first_step: Integer, the step to begin at, counted from the start of
            the first epoch: a run that goes on passes the number of steps
            that it has done. Default: 0.
        last_step: Integer, the step to end before, or `None` for the end of
            the epoch that `first_step` is in. Default: `None`.
        parallel_calls: Integer, how many batches are made at the same time,
            or `None` for one per core.

    Returns:
        A `tf.data.Dataset`.

    Example:

    >>> train = batches.KeywordBatches(data, "train", training=True, seed=1)
    >>> model.fit(
    ...     to_dataset(train, 0, 100 * len(train)),
    ...     steps_per_epoch=len(train),
    ...     epochs=100,
    ... )
    """
    if last_step is None:
        last_step = (first_step // len(batches) + 1) * len(batches)
    structure = _specs(batches.signature)
    specs = tf.nest.flatten(structure)

    def make(step):
        flat = tf.numpy_function(
            lambda s: tf.nest.flatten(batches[s]),
            [step],
            [spec.dtype for spec in specs],
        )
        for tensor, spec in zip(flat, specs):
            tensor.set_shape(spec.shape)
        return tf.nest.pack_sequence_as(structure, flat)

    dataset = tf.data.Dataset.range(first_step, last_step)
    dataset = dataset.map(
        make,
        num_parallel_calls=parallel_calls or os.cpu_count() or 1,
        deterministic=True,
    )
    options = tf.data.Options()
    # Each batch is made whole: there is nothing to shard by files.
    options.experimental_distribute.auto_shard_policy = (
        tf.data.experimental.AutoShardPolicy.OFF
    )
    return dataset.prefetch(2).with_options(options)


def _specs(signature):
    """A signature with a `tf.TensorSpec` for every `(shape, dtype)`."""
    if isinstance(signature, dict):
        return {name: _specs(part) for name, part in signature.items()}
    if isinstance(signature[1], str):
        return tf.TensorSpec(*signature)
    return tuple(map(_specs, signature))
