"""Accuracy at other levels and with noise, of a small run."""

import json

import keras
import numpy as np
import pytest

from tests.recipes.fake_data import noise
from tests.recipes.fake_data import write_words

pytestmark = pytest.mark.any_backend


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a short run on words that are tones."""
    import kws
    import trainer

    folder = tmp_path_factory.mktemp("robustness")
    words = write_words(folder / "words")
    assert not trainer.main(
        kws.KeywordSpotting,
        f"--data {words} --out {folder / 'run'} --cache {folder / 'cache'} "
        "--words commands12 --units 8 --num-layers 1 --epochs 1 "
        "--batch-size 4".split(),
    )
    return folder / "run"


def test_table_and_json(run, capsys):
    import robustness

    assert robustness.main([str(run)]) == 0
    result = json.loads((run / "robustness.json").read_text())
    assert result["count"] == 12
    assert result["noises"] == ["doing_the_dishes", "running_tap"]
    levels = [row["level_db"] for row in result["levels"]]
    assert levels == [-20, -10, 0, 10]
    assert [row["snr_db"] for row in result["snrs"]] == [0, 5, 10, 15, 20]
    # The recipe's own test is that as recorded.
    tested = json.loads((run / "result.json").read_text())["test"]
    assert result["accuracy"] == tested["accuracy"]
    assert result["levels"][2]["accuracy"] == tested["accuracy"]
    shown = capsys.readouterr().out
    assert shown.endswith((run / "robustness.txt").read_text())
    assert "level -20 dB" in shown and "noise at 5 dB SNR" in shown


def test_noise_of_ones_own(run, tmp_path):
    import soundfile

    import robustness

    soundfile.write(tmp_path / "rain.wav", noise(20000), 16000)
    assert robustness.main([str(run), "--noise", str(tmp_path)]) == 0
    result = json.loads((run / "robustness.json").read_text())
    assert result["noises"] == ["rain"]


def test_levels():
    import robustness

    audio = np.array([[0.1, -0.5]], "float32")
    np.testing.assert_allclose(
        robustness.at_level(-20.0)(audio), audio / 10, rtol=1e-6
    )
    np.testing.assert_allclose(robustness.at_level(20.0)(audio), [[1.0, -1.0]])


def test_ratios():
    import robustness

    rng = np.random.default_rng(0)
    audio = 0.05 * rng.standard_normal((6, 16000)).astype("float32")
    noises = [noise(20000, 1), noise(5000, 2)]
    rest = robustness.with_noise(noises, 5.0)(audio) - audio
    power = np.sum(audio**2, axis=1) / np.sum(rest**2, axis=1)
    np.testing.assert_allclose(10 * np.log10(power), 5, atol=0.01)
    # At another ratio the same stretches of noise.
    other = robustness.with_noise(noises, 15.0)(audio) - audio
    np.testing.assert_allclose(other * 10 ** (10 / 20), rest, atol=1e-5)


def test_bad_settings(run, tmp_path, capsys):
    import robustness

    assert robustness.main([str(tmp_path)]) == 1
    assert "`run` must be the folder of a finished run" in (
        capsys.readouterr().err
    )
    assert robustness.main([str(run), "--noise", str(tmp_path)]) == 1
    assert "`--noise` must be a folder of" in capsys.readouterr().err
    (tmp_path / "rain.wav").write_bytes(b"")
    assert robustness.main([str(run), "--noise", str(tmp_path)]) == 1
    assert "rain.wav is empty" in capsys.readouterr().err
    (tmp_path / "config.json").write_text('{"task": "se"}')
    (tmp_path / "model.keras").write_text("")
    assert robustness.main([str(tmp_path)]) == 1
    assert "`run` must be a run of kws.py or slu.py" in capsys.readouterr().err


def test_the_model_is_that_of_the_run(run):
    config = json.loads((run / "config.json").read_text())
    assert config["labels"][:3] == ["silence", "unknown", "yes"]
    assert config["gain_db"] == [-10.0, 6.0]
    model = keras.models.load_model(run / "model.keras")
    assert model.output_shape[-1] == 12
