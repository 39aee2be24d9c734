"""Reads FLAC with tensorflow-io, as recipes do where it loads."""

import pathlib
import sys
import tempfile

import numpy as np
import soundfile
import tensorflow_io

from datasets import audio_io


def main():
    samples = np.random.default_rng(0).integers(-9999, 9999, 4000)
    samples = samples.astype("int16")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "noise.flac"
        soundfile.write(path, samples, 16000)
        assert audio_io.tensorflow_io() is tensorflow_io
        found = audio_io.read_audio(path)
    np.testing.assert_allclose(found, samples / 32768, atol=1 / 32768)
    print(f"ok: tensorflow-io {tensorflow_io.__version__} reads FLAC")


if __name__ == "__main__":
    sys.exit(main())
