"""A preset out of a small run, and the page of those in the package."""

import json
import shutil

import keras
import numpy as np
import pytest

from keras_duspar import models
from keras_duspar import tflite
from keras_duspar.models import preset_files
from tests.helpers import skip_unless_deployable
from tests.recipes.fake_data import write_words

pytestmark = pytest.mark.any_backend
NAME = "kws_duspar_128_commands12"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a short run on words that are tones."""
    skip_unless_deployable()
    import kws
    import trainer

    folder = tmp_path_factory.mktemp("preset")
    words = write_words(folder / "words")
    arguments = (
        f"--data {words} --out {folder / 'run'} --cache {folder / 'cache'} "
        "--words commands12 --units 8 --num-layers 1 --epochs 1 --batch-size 4"
    ).split()
    with pytest.MonkeyPatch.context() as patch:  # as the command is noted
        patch.setattr("sys.argv", ["recipes/kws.py", *arguments])
        assert not trainer.main(kws.KeywordSpotting)
    return folder / "run"


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    """Where its preset was made."""
    import make_preset
    import preset_card

    out = tmp_path_factory.mktemp("presets")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(
            preset_card.TABLES["data"],
            "words",
            {
                "name": "tones",
                "license": "none",
                "attribution": "nobody",
            },
        )
        patch.setattr(preset_card, "SYNTHETIC_SIZES", {"kws": 70})
        assert make_preset.main([str(run), NAME, "--out", str(out)]) == 0
    return out


def test_files_and_card(run, folder, monkeypatch):
    monkeypatch.setattr(preset_files, "FOLDER", folder)
    assert list(models.presets()) == [NAME]
    card = models.preset_card(NAME)
    assert sorted(p.name for p in (folder / NAME).iterdir()) == sorted(
        preset_files.FILES
    )
    result = json.loads((run / "result.json").read_text())
    labels = json.loads((run / "config.json").read_text())["labels"]
    assert card["labels"] == labels and card["sample_rate"] == 16000
    # The file is the model: float32 weights say the same of every word.
    assert set(card["compared"]) == {"float32", "bfloat16", "int8"}
    assert card["metrics"]["keras"] == result["test"]
    assert card["metrics"]["test"]["count"] == result["test"]["count"]
    assert card["occupancy"] == pytest.approx(result["occupancy"], abs=0.02)
    assert card["dense_macs"] == result["dense_macs"]
    command = card["trained"]["command"]
    assert command.startswith(
        "python recipes/kws.py --data words --words commands12 --units 8"
    )
    assert str(run.parent) not in json.dumps(card)
    for name, size in card["bytes"].items():
        assert (folder / NAME / name).stat().st_size == size

    model = models.from_preset(NAME)
    assert (model.task, model.labels) == ("kws", labels)
    original = keras.models.load_model(run / "model.keras")
    for ours, theirs in zip(model.get_weights(), original.get_weights()):
        np.testing.assert_array_equal(ours, theirs)
    whole, stream = tflite.load(NAME), tflite.load(NAME, streaming=True)
    assert whole.labels == labels and not whole.streaming
    assert stream.streaming and stream.weights == card["weights"]


def test_again(folder, tmp_path, capsys):
    """Converted anew, files say what they said, and keep their thresholds."""
    import make_preset

    shutil.copytree(folder / NAME, tmp_path / NAME)
    stream = tmp_path / NAME / preset_files.STREAMING
    tflite.store_detector(stream, {"yes": 0.93}, smoothing=0.2)
    before = json.loads((tmp_path / NAME / preset_files.CARD).read_text())
    detector = tflite.inspect(stream).description["detector"]
    assert not make_preset.main(["--again", NAME, "--out", str(tmp_path)])
    after = json.loads((tmp_path / NAME / preset_files.CARD).read_text())
    assert tflite.inspect(stream).description["detector"] == detector
    timed = {"us_per_frame", "timed", "compared"}
    assert {k: v for k, v in after.items() if k not in timed} == {
        k: v for k, v in before.items() if k not in timed
    }
    for kind, found in after["compared"].items():
        assert found["accuracy"] == before["compared"][kind]["accuracy"]
        assert found["us_per_frame"] > 0

    # The scores in the card are not those of another model.
    path = tmp_path / NAME / preset_files.KERAS
    model = keras.models.load_model(path)
    model.set_weights([1.1 * w for w in model.get_weights()])
    model.save(path)
    kept = stream.read_bytes()
    assert make_preset.main(["--again", NAME, "--out", str(tmp_path)])
    assert "something else of the same sound" in capsys.readouterr().err
    assert stream.read_bytes() == kept
    assert make_preset.main(["--again", "no", "--out", str(tmp_path)])
    assert "`--again` must name presets" in capsys.readouterr().err


def test_credit_names_all_data():
    import types

    import preset_card

    words, speech = (
        preset_card.TABLES["data"][name]
        for name in ("speech_commands", "voicebank_demand")
    )
    config = types.SimpleNamespace(data="there/speech_commands")
    assert preset_card.credit(config) == words
    config.other_speech = "there/voicebank_demand"
    credit = preset_card.credit(config)
    assert credit["license"] == "CC BY 4.0"  # of both
    for one in (words, speech):
        assert one["attribution"] in credit["attribution"]


def test_choice():
    import make_preset

    kinds = {
        "float32": {"accuracy": 0.95, "us_per_frame": 9},
        "bfloat16": {"accuracy": 0.9495, "us_per_frame": 7},
        "int8": {"accuracy": 0.94, "us_per_frame": 6},
    }
    assert make_preset.choose(kinds) == "bfloat16"
    kinds["int8"]["accuracy"] = 0.96
    assert make_preset.choose(kinds) == "int8"
    kinds["float32"]["us_per_frame"] = 5
    assert make_preset.choose(kinds) == "float32"


def test_rounded_kernels_and_sizes(tmp_path):
    import make_preset
    from trainer.errors import TrainingError

    model = models.keyword_spotter("spar", 4, labels=["a", "b"])
    assert make_preset.rounded(model, "float32") is model
    copy = make_preset.rounded(model, "bfloat16")
    assert copy.labels == ["a", "b"]
    for old, new in zip(model.get_weights(), copy.get_weights()):
        np.testing.assert_allclose(new, old, rtol=2**-8)
    kernel = copy.get_layer("classifier").get_weights()[0]
    assert not np.any(np.ascontiguousarray(kernel).view("u4") & 0xFFFF)
    for name in preset_files.FILES:
        (tmp_path / name).write_bytes(bytes(333_000))
    assert sum(make_preset.file_sizes(tmp_path).values()) == 999_000
    (tmp_path / preset_files.WHOLE).write_bytes(bytes(1_000_001))
    with pytest.raises(TrainingError, match="1,000,000.*`--weights int8`"):
        make_preset.file_sizes(tmp_path)


def test_bad_arguments(run, tmp_path, capsys):
    import make_preset

    assert make_preset.main([str(run), "no_such_preset"]) == 1
    assert "`name` must be one of kws_duspar_128" in capsys.readouterr().err
    assert make_preset.main([str(tmp_path), NAME]) == 1
    assert "`run` must be the folder of" in capsys.readouterr().err


def test_page_is_what_the_cards_say():
    """`python recipes/make_preset.py --page` writes it."""
    import make_preset

    assert make_preset.PAGE.read_text("utf-8") == make_preset.page()
