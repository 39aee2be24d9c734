"""Where the recipes' speech comes from: one source a file.

A source's `load()` returns a `base.Dataset`; `decoding.decode()` reads and
checks every file of it once; `batches` makes NumPy batches, each a pure
function of the seed and the step; `pipeline.to_dataset()` serves them through
`tf.data`.
"""
