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
    signature = batches.signature
    specs = tf.nest.flatten(_map_specs(signature, lambda spec: spec.dtype))

    def make(step):
        flat = tf.numpy_function(
            lambda s: tf.nest.flatten(batches[s]), [step], specs
        )
        shapes = tf.nest.flatten(_map_specs(signature, lambda spec: spec))
        for tensor, spec in zip(flat, shapes):
            tensor.set_shape(spec.shape)
        structure = _map_specs(signature, lambda spec: 0)
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


def _map_specs(signature, function):
    """Applies `function` to every `(shape, dtype)` of a signature."""
    if isinstance(signature, dict):
        return {k: _map_specs(v, function) for k, v in signature.items()}
    shape, dtype = signature
    if isinstance(dtype, str):
        return function(tf.TensorSpec(shape, dtype))
    return tuple(_map_specs(part, function) for part in signature)
