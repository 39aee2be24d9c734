"""The log-mel front end as one operator."""

import pathlib
import re

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar import tflite
from keras_duspar.audio import LogMel
from tests.helpers import assert_close
from tests.tflite.conftest import make_audio

tf = pytest.importorskip("tensorflow")
front_end = pytest.importorskip("keras_duspar.tflite.front_end")

pytestmark = pytest.mark.any_backend


def make_log_mel(**options):
    # Filters so narrow that the lowest have no bin at all.
    sizes = {"bands": 37, "frame_length": 64, "hop_length": 16}
    layer = LogMel(**{**sizes, "low_hz": 0.0, **options})
    layer.adapt(make_audio(4000))
    return layer


def make_model(recurrent, **options):
    return keras.Sequential(
        [
            keras.Input((None,)),
            make_log_mel(**options),
            recurrent(6, return_sequences=True),
        ]
    )


@pytest.mark.parametrize("quantization", [None, "int8"])
def test_constants_hold_the_filters(quantization):
    layer = make_log_mel(quantization=quantization)
    _, filters, edges, *_ = front_end.constants(layer)
    matrix = np.zeros_like(layer.filters)
    for band, (first, behind) in enumerate(edges):
        matrix[first:behind, band] = filters[: behind - first]
        filters = filters[behind - first :]
    assert not filters.size
    np.testing.assert_array_equal(matrix, layer.filters)
    assert (np.diff(edges) == 0).any()  # the case is there


def test_computes_what_the_layer_does():
    layer = make_log_mel()
    audio = make_audio(500)
    constants = [tf.constant(c) for c in front_end.constants(layer)]
    actual = front_end.compute(layer, tf.constant(audio), *constants)
    assert_close(actual, layer(audio), atol=1e-4)


@pytest.mark.parametrize(
    "streaming, padding, frames",
    [(False, "valid", 1), (False, "causal", 1), (True, "valid", 3)],
)
def test_files_give_what_keras_gives(streaming, padding, frames, tmp_path):
    model = make_model(keras_duspar.DuSpaR, padding=padding)
    path = tflite.convert(
        model, tmp_path / "m.tflite", streaming=streaming, frames=frames
    )
    operators = tflite.inspect(path).operators
    assert operators["DuSpaRLogMel"] == 1 and "RFFT2D" not in operators
    assert [op["name"] for op in tflite.inspect(path).sparse] == ["DuSpaR"]
    audio = make_audio(960)
    runner = tflite.load(path)
    assert_close(runner(audio), model.predict(audio, verbose=0), atol=1e-5)


@pytest.mark.parametrize(
    "recurrent, options",
    [
        (keras.layers.GRU, {}),  # needs no delegate
        (keras_duspar.DuSpaR, {"frame_length": 16}),  # not in the library
    ],
)
def test_stays_built_in(recurrent, options, tmp_path):
    model = make_model(recurrent, **options)
    path = tflite.convert(model, tmp_path / "m.tflite", streaming=True)
    operators = tflite.inspect(path).operators
    assert operators["RFFT2D"] == 1 and "DuSpaRLogMel" not in operators


def test_what_the_library_knows():
    assert front_end.can_be_operator(LogMel())
    assert not front_end.can_be_operator(LogMel(offset=1e-40))
    assert not front_end.can_be_operator(keras_duspar.DuSpaR(3))


def test_the_library_has_the_same_limits():
    sources = pathlib.Path(__file__).parents[2] / "tflite" / "src"
    (header,) = sources.rglob("log_mel.h")
    limits = re.findall(r"DUSPAR_M\w\w_FRAME = (\d+)", header.read_text())
    assert list(map(int, limits)) == [front_end.SHORTEST, front_end.LONGEST]


@pytest.mark.parametrize(
    "length, fits",
    [(16, False), (32, True), (48, False), (32768, True), (65536, False)],
)
def test_frames_that_the_library_knows(length, fits):
    layer = LogMel(4, frame_length=length, hop_length=length)
    assert front_end.can_be_operator(layer) == fits
