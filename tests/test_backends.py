"""The three backends give the same outputs and gradients."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.any_backend
BACKENDS = ("tensorflow", "jax", "torch")
SCRIPT = pathlib.Path(__file__).with_name("backend_run.py")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("backends")
    found = {}
    for backend in BACKENDS:
        path = folder / f"{backend}.npz"
        environment = {**os.environ, "KERAS_BACKEND": backend}
        done = subprocess.run(
            [sys.executable, "-m", "tests.backend_run", str(path)],
            env=environment,
            cwd=SCRIPT.parent.parent,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found[backend] = dict(np.load(path))
    return found


@pytest.mark.parametrize("other", BACKENDS[1:])
def test_outputs_and_gradients_agree(results, other):
    first, second = results["tensorflow"], results[other]
    assert first.keys() == second.keys() and len(first) > 40
    for key, value in first.items():
        tolerance = 1e-4 if "/gradient" in key else 1e-5
        np.testing.assert_allclose(
            second[key], value, atol=tolerance, rtol=0, err_msg=key
        )
        assert np.abs(value).max() > 0, key


def test_a_saved_model_loads_on_every_backend(results):
    outputs = [results[b]["loaded/outputs"] for b in BACKENDS]
    for other in outputs[1:]:
        np.testing.assert_allclose(other, outputs[0], atol=1e-5)
