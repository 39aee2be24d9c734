"""What all tests share."""

import os
import pathlib

# The tests' backend is the environment's; TensorFlow's logs would drown them.
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _seed():
    keras.utils.set_random_seed(1)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.fixture
def float64():
    """Double precision, which JAX has to be asked for."""
    if keras.backend.backend() != "jax":
        yield
        return
    import jax

    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.fixture(scope="session")
def speech_data():
    """The folder of real speech, where there is one."""
    folder = os.environ.get("KERAS_DUSPAR_DATA", ROOT.parent / "shared/data")
    folder = pathlib.Path(folder)
    if not folder.is_dir():
        pytest.skip("no real speech: set KERAS_DUSPAR_DATA to its folder")
    return folder
