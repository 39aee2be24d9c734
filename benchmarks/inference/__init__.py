"""Parts of the benchmark of a step at a time: `benchmarks/interpreter.py`."""
