"""The presets in the package do what their cards say."""

import os

import numpy as np
import pytest

from keras_duspar import models
from keras_duspar import tflite
from keras_duspar.models import preset_files
from tests.conftest import ROOT

PRESETS = list(models.presets())
EVERY_PRESET = pytest.mark.parametrize("name", PRESETS)
VARIABLES = {
    "kws": "KERAS_DUSPAR_SPEECH_COMMANDS",
    "slu": "KERAS_DUSPAR_SPEECH_COMMANDS",
    "se": "KERAS_DUSPAR_VOICEBANK",
}
# How far a metric may be off: what other processors round otherwise.
TOLERANCES = {"accuracy": 2e-3, "pesq_wb": 0.01, "stoi": 1e-3, "si_sdr": 0.05}


def assert_scores(found, expected):
    assert found["count"] == expected["count"]
    for metric, tolerance in TOLERANCES.items():
        if metric in expected:
            tolerance = max(tolerance, 1.01 / found["count"])
            assert found[metric] == pytest.approx(
                expected[metric], abs=tolerance
            )


def assert_values(found, expected):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, atol=2e-3 * scale)
    assert scale > 1e-3


@pytest.mark.any_backend
@EVERY_PRESET
def test_card_and_files(name):
    card = models.preset_card(name)
    folder = preset_files.FOLDER / name
    sizes = {p.name: p.stat().st_size for p in folder.iterdir()}
    del sizes[preset_files.CARD]
    assert sizes == card["bytes"] and max(sizes.values()) <= 1_000_000
    for file in (preset_files.WHOLE, preset_files.STREAMING):
        runner = tflite.load(folder / file)
        assert runner.streaming == (file == preset_files.STREAMING)
        for key in ("task", "labels", "sample_rate", "hop", "weights"):
            assert getattr(runner, key) == card[key]
    assert "CC BY 4.0" in card["data"]["license"]
    assert card["limits"] and card["metrics"]["test"]["count"] > 500
    # Made on the fastest that is no worse than float32.
    times = {k: v["us_per_frame"] for k, v in card["compared"].items()}
    assert times[card["weights"]] == card["us_per_frame"]


@EVERY_PRESET
def test_keras_model_on_a_fixed_sound(name):
    import preset_card

    card, model = models.preset_card(name), models.from_preset(name)
    assert (model.task, model.labels) == (card["task"], card["labels"])
    assert model.count_params() >= card["parameters"]
    output = model.predict(preset_card.sample_audio()[np.newaxis], verbose=0)
    found = preset_card.some_values(output)
    assert_values(found, card["sample"][preset_files.KERAS])


@pytest.mark.any_backend
@EVERY_PRESET
@pytest.mark.parametrize("streaming", [False, True])
def test_files_on_a_fixed_sound(name, streaming):
    import preset_card

    expected = models.preset_card(name)["sample"]
    runner = tflite.load(name, streaming=streaming)
    output = runner(preset_card.sample_audio())
    file = preset_files.STREAMING if streaming else preset_files.WHOLE
    assert_values(preset_card.some_values(output), expected[file])
    if runner.task == "kws" and streaming:  # of the last second alone
        assert runner.window == pytest.approx(1, abs=0.01)
        return
    # Rounding the weights changes little.
    kept = np.array(expected[preset_files.KERAS])
    error = np.abs(np.array(expected[file]) - kept).max()
    assert error < 0.1 * np.abs(kept).max()


@pytest.mark.any_backend
@EVERY_PRESET
def test_synthetic_speech(name):
    pytest.importorskip("espeakng_loader")
    import preset_card

    file = preset_card.File(preset_files.FOLDER / name / preset_files.WHOLE)
    expected = models.preset_card(name)["metrics"]["further"]
    found = preset_card.synthetic_metrics(file)
    assert list(found) == list(expected)
    for title, scores in found.items():
        assert_scores(scores, expected[title])


@pytest.mark.nightly
@EVERY_PRESET
def test_whole_test_set(name, tmp_path):
    import preset_card
    from trainer.run_folder import RunFolder

    card = models.preset_card(name)
    data = os.environ.get(VARIABLES[card["task"]])
    if not data:
        pytest.skip(f"set {VARIABLES[card['task']]} to the folder of the data")
    file = preset_card.File(preset_files.FOLDER / name / preset_files.WHOLE)
    trained = card["trained"]
    task = preset_card.open_data(
        file.runner,
        data,
        sizes=trained["sizes"],
        data_seed=trained["data_seed"],
    )
    assert_scores(task.test(file, RunFolder(tmp_path)), card["metrics"]["test"])


@pytest.mark.any_backend
def test_presets_by_name():
    for load in (models.from_preset, models.preset_card, tflite.load):
        with pytest.raises(ValueError, match="`.*` must be a preset.*no_such"):
            load("no_such")
    with pytest.raises(ValueError, match="`streaming` must be False unless"):
        tflite.load(ROOT / "tests/kept/0.1.0/spotter.tflite", streaming=True)
    for description in models.presets().values():
        assert description and "\n" not in description


@pytest.mark.any_backend
def test_demonstration(tmp_path, capsys):
    """What `make demo` shows before it trains."""
    pytest.importorskip("espeakng_loader")
    import show_presets

    assert show_presets.main(["--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("$ keras-duspar spot ")
    heard = [line.split()[1] for line in shown[1 : 1 + len(show_presets.WORDS)]]
    assert heard.count("unknown") < 3  # most words are known
