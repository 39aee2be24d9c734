"""The benchmark compares what it says it does, and its command works."""

import json
import os
import platform
import shutil
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_duspar import native
from tests.conftest import ROOT

pytestmark = pytest.mark.any_backend


@pytest.fixture
def gru(rng):
    """Weights of two layers, frames, and what Keras' layers make of them."""
    from inference import peers

    features, widths = 13, (24, 17)
    weights = peers.gru_weights(rng, features, widths)
    frames = rng.uniform(-1, 1, (9, features)).astype("float32")
    model = keras.Sequential([keras.Input((None, features))])
    for units, values in zip(widths, weights):
        model.add(keras.layers.GRU(units, return_sequences=True))
        model.layers[-1].set_weights(values)
    expected = np.array(model(frames[np.newaxis])[0])
    return weights, frames, expected


def steps(part, frames):
    return np.concatenate([part.step(x[np.newaxis])[0] for x in frames])


@pytest.mark.parametrize(
    "type_, tolerance",
    [("float32", 1e-5), ("dynamic int8", 0.1), ("full int8", 0.1)],
)
def test_litert_gru_is_keras(gru, tmp_path, type_, tolerance):
    from inference import lanes
    from inference import model_files

    weights, frames, expected = gru
    path = tmp_path / "gru.tflite"
    model_files.write_cells(path, "GRU", 13, (24, 17), type_, weights)
    found = steps(lanes.FilePart(path.read_bytes()), frames)
    np.testing.assert_allclose(found, expected, atol=tolerance)


@pytest.mark.parametrize("package", ["onnxruntime", "torch"])
def test_gru_of_other_packages_is_keras(gru, package):
    from inference import lanes

    pytest.importorskip(package)
    part_class = {"onnxruntime": lanes.OnnxPart, "torch": lanes.TorchPart}
    weights, frames, expected = gru
    part = part_class[package](weights)
    np.testing.assert_allclose(steps(part, frames), expected, atol=1e-5)


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("vectors", native.kernels() or ["portable"])
def test_dense_kernel_is_keras(gru, dense_library, vectors, int8):
    from inference import lanes

    weights, frames, expected = gru
    try:
        lane = lanes.DenseKernel(
            "", frames, weights, (1, 1), dense_library, int8, vectors=vectors
        )
    except ValueError as e:
        pytest.skip(str(e))
    for row in expected:
        lane.run(1)
        np.testing.assert_allclose(lane.output, row, atol=0.1 if int8 else 1e-5)


def test_dense_kernel_pools(rng, dense_library):
    from inference import lanes
    from inference import peers

    weights = peers.gru_weights(rng, 6, (8, 8))
    frames = rng.uniform(-1, 1, (8, 6)).astype("float32")
    lane = lanes.DenseKernel(
        "", frames, weights, (4, 1), dense_library, False, vectors="portable"
    )
    lane.run(8)
    x = frames[np.newaxis]
    for units, values, pool in zip((8, 8), weights, (4, 1)):
        layer = keras.layers.GRU(units, return_sequences=True)
        layer.build(x.shape)
        layer.set_weights(values)
        x = np.array(layer(x))
        x = x.reshape(1, -1, pool, units).mean(axis=2)
    np.testing.assert_allclose(lane.output, x[0, -1], atol=1e-5)


def test_widths_have_as_many_parameters():
    from inference import stacks

    for stack in stacks.STACKS:
        wanted = stack.parameters("DuSpaR")
        for kind in ("GRU", "LSTM"):
            found = stack.parameters(kind)
            assert abs(found - wanted) < 0.06 * wanted, (stack.name, kind)
            layer = getattr(keras.layers, kind)(stack.widths(kind)[0])
            layer.build((None, 1, stack.features))
            assert layer.count_params() == stacks.Stack(
                "", stack.features, stack.units[:1]
            ).parameters(kind, stack.widths(kind)[:1])


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """What the command writes, with a run folder and recordings."""
    import soundfile

    from keras_duspar import models

    folder = tmp_path_factory.mktemp("bench")
    run, data = folder / "run", folder / "data"
    run.mkdir()
    data.mkdir()
    rng = np.random.default_rng(0)
    audio = rng.normal(0, 0.1, 8000).astype("float32")
    soundfile.write(data / "a.wav", audio, 16000)
    model = models.keyword_spotter("duspar", 8, num_classes=3)
    model.get_layer("log_mel").adapt(audio[np.newaxis])
    model.save(run / "model.keras")
    (run / "config.json").write_text('{"task": "kws"}')
    out = folder / "out"
    command = [sys.executable, ROOT / "benchmarks" / "interpreter.py"]
    command += ["--quick", "--out", out, "--run", run, data]
    command += ["--files", folder / "files"]
    subprocess.run(
        command, check=True, env={**os.environ, "KERAS_BACKEND": "tensorflow"}
    )
    return out


def test_quick_counts_the_occupancies_it_was_asked_for(quick):
    result = json.loads((quick / "interpreter.json").read_text())
    for figures in result["stacks"].values():
        sparse = [f for f in figures if "asked" in f]
        assert {f["asked"] for f in sparse} == {0.28, 0.5, 1.0}
        assert {(f["weights"], f["operands"]) for f in sparse} == {
            ("float32", "float32"),
            ("int8", "uint8"),
        }
        for f in sparse:
            assert abs(f["occupancy"] - f["asked"]) < 0.04, f["name"]


def test_quick_measures_everything(quick):
    result = json.loads((quick / "interpreter.json").read_text())
    assert not [n for n in result["missing"] if "LiteRT" in n or "DuSpaR" in n]
    (figures,) = result["stacks"].values()
    names = {f["name"] for f in figures}
    assert "empty file" in names
    for kind in ("GRU", "LSTM"):
        for type_ in ("float32", "dynamic int8", "full int8"):
            assert f"{kind} LiteRT {type_}" in names
    for group in ("stacks", "trained", "whole"):
        for figures in result[group].values():
            for f in figures:
                assert len(f["times_us"]) == 3
                assert 0 < f["least_us"] <= f["low_us"] <= f["median_us"]
    (trained,) = result["trained"].values()
    (whole,) = result["whole"].values()
    # Layers by themselves and within the model see the same zeros.
    alone = {f["weights"]: f["occupancy"] for f in trained if f["occupancy"]}
    assert 0.2 < alone["float32"] < 0.8
    assert [f["seconds"] for f in whole if "seconds" in f] == [0.016] * 4
    page = (quick / "interpreter.md").read_text()
    for heading in ("by occupancy", "Opponents", "Trained", "Whole"):
        assert heading in page
    for plot in ("occupancy.png", "sizes.png"):
        assert (quick / plot).stat().st_size > 5000


@pytest.mark.nightly
def test_kernels_and_their_instructions(tmp_path):
    import shutil

    import kernels

    arguments = ["--stack", "64-128", "--kernel", "avx2", "--out", tmp_path]
    arguments = [str(a) for a in arguments]
    if "avx2" not in native.kernels():
        pytest.skip("needs AVX2")
    kernels.main([*arguments, "--rounds", "5"])
    found = json.loads((tmp_path / "kernels.json").read_text())
    assert {f["model"] for f in found} == {"DuSpaR", "GRU"}
    if shutil.which("valgrind") is None:
        pytest.skip("needs valgrind")
    kernels.main([*arguments, "--instructions"])
    found = json.loads((tmp_path / "instructions.json").read_text())
    for f in found:
        if f["model"] == "DuSpaR":
            assert abs(f["occupancy"] - f["asked"]) < 0.05
    dense = [f["instructions"] for f in found if f["weights"] == "float32"]
    assert dense[:6] == sorted(dense[:6])


@pytest.mark.nightly
def test_instructions_of_arm_are_counted(tmp_path):
    import shutil

    import kernels

    for tool in ("qemu-aarch64", "aarch64-linux-gnu-gcc"):
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    found = {}
    for kernel in ("neon", "neon_fp16"):
        arguments = ["--stack", "64-128", "--kernel", kernel]
        kernels.main([*arguments, "--instructions", "--out", str(tmp_path)])
        found[kernel] = json.loads((tmp_path / "instructions.json").read_text())
        for figure in found[kernel]:
            assert figure["kernel"] == kernel
    floats, halves = (
        [
            f["instructions"]
            for f in found[kernel]
            if f["weights"] == weights and f["model"] == "DuSpaR"
        ]
        for kernel, weights in (("neon", "float32"), ("neon_fp16", "bfloat16"))
    )
    assert floats == sorted(floats) and len(floats) == len(halves) == 7
    # All 64 rows of both products, four numbers to a vector: at the least.
    assert floats[-1] > (64 + 128) * 2 * 128 / 4
    # Twice as many numbers to a vector.
    assert halves[-1] < 0.8 * floats[-1]


HELD = """
import sys
sys.path.insert(0, sys.argv[1])
from inference import held
from inference import lanes
import numpy as np
if sys.argv[4] == "avx2":
    assert held.hold("avx2")
part = lanes.FilePart(open(sys.argv[2], "rb").read())
x = np.load(sys.argv[3])
np.save(sys.argv[3], [part.step(f[None])[0] for f in x])
assert held.hold("avx512_vnni") is False
print(held._flags()[1])
"""


@pytest.mark.skipif(shutil.which("nm") is None, reason="needs binutils")
@pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.platform != "linux",
    reason="needs x86-64 with Linux",
)
def test_litert_is_held_to_avx2(gru, tmp_path):
    """It then computes the same, with instructions up to AVX2."""
    from inference import held
    from inference import model_files

    weights, frames, _ = gru
    path, found = tmp_path / "gru.tflite", []
    model_files.write_cells(path, "GRU", 13, (24, 17), "float32", weights)
    for kernel in ("", "avx2"):
        np.save(tmp_path / "x.npy", frames)
        command = [sys.executable, "-c", HELD, ROOT / "benchmarks", path]
        done = subprocess.run(
            [*command, tmp_path / "x.npy", kernel],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "DUSPAR_KERNEL": "avx2"},
        )
        found.append((int(done.stdout), np.load(tmp_path / "x.npy")))
    (everything, expected), (flags, held_to) = found
    assert flags == everything & held.AVX2 == held.AVX2
    np.testing.assert_allclose(held_to, expected, atol=1e-5)


def test_gains_are_drawn_from_their_table(tmp_path):
    import gains

    out = tmp_path / "gains.png"
    gains.main(["--out", str(out)])
    assert out.read_bytes()[:4] == b"\x89PNG"


def test_gains_measure_the_files_of_the_table(rng, tmp_path):
    import gains
    import soundfile

    (tmp_path / "kws").mkdir()
    noise = rng.normal(0, 0.1, 8000)
    soundfile.write(tmp_path / "kws" / "a.wav", noise, 16000)
    file = "keras_duspar/presets/kws_duspar_128_words30/streaming.tflite"
    table, written = tmp_path / "table.csv", tmp_path / "written.csv"
    header = "task,model,budget,score,file,occupancy,microseconds\n"
    rows = f"kws,DuSpaR,,94,{file},,\nse,another,,2.5,,40,9\n"
    table.write_text(header + rows)
    gains.main(
        ["--data", str(tmp_path), "--rounds", "1", "--table", str(table)]
        + ["--write", str(written), "--files", str(tmp_path / "files")]
        + ["--out", str(tmp_path / "gains.png")]
    )
    assert table.read_text() == header + rows
    _, measured, kept = written.read_text().splitlines()
    occupancy, microseconds = map(float, measured.split(",")[-2:])
    assert 0 < occupancy < 100 and microseconds > 0
    assert kept == "se,another,,2.5,,40,9"


def test_tables_of_kernels_tell_the_least_of_the_rounds():
    import kernels

    row = {"stack": "KWS", "kernel": "avx2", "weights": "float32"}
    row |= {"operands": "float32", "model": "DuSpaR", "bytes": 1}
    row |= {"occupancy": 0.5, "ns": 2000, "least_ns": 1000}
    figures = [{**row, "asked": asked} for asked in (0.5, 1)]
    assert "| 2.00 |" in kernels.time_tables(figures)
    least = kernels.time_tables(figures, "least")
    assert "| 1.00 |" in least and "| 2.00 |" not in least
