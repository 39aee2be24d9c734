"""Where the recipes' speech comes from: one source per file.

A source's `load()` returns a `base.Dataset` of files; `decoding.decode()`
reads and checks every one of them; `sources.load()` does both. `batches` makes
NumPy batches, each a pure function of the seed and the step, and
`pipeline.to_dataset()` serves them through `tf.data`.
"""
