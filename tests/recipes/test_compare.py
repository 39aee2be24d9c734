"""The table of several runs."""

import json

import pytest

pytestmark = pytest.mark.any_backend


def result(**changes):
    return {
        "task": "kws",
        "model": "duspar",
        "units": 128,
        "seed": 0,
        "data": "words",
        "epochs": 2,
        "parameters": 103715,
        "occupancy": 0.5,
        "effective_macs": 3.2e6,
        "test": {"accuracy": 0.8},
    } | changes


def test_means_and_deviations_over_seeds():
    import compare

    lines = compare.table(
        [
            result(),
            result(seed=1, test={"accuracy": 0.9}, occupancy=0.6),
            result(model="gru", units=96, occupancy=1.0),
        ]
    ).splitlines()
    assert lines[2] == (
        "| duspar | 128 | 103,715 | 2 | 85.00 ± 7.07 | 55.0 ± 7.1 "
        "| 3.200 ± 0.000 |"
    )
    assert lines[3].startswith("| gru | 96 | 103,715 | 1 | 80.00 | 100.0 |")


def test_quantized_runs_have_rows_of_their_own():
    import compare

    rounded = [{"name": "float32"}, {"name": "int8, trained"}]
    lines = compare.table(
        [
            result(),
            result(test={"accuracy": 0.7}, quantization=rounded),
            result(seed=1, test={"accuracy": 0.7}, quantization=rounded),
        ]
    ).splitlines()
    assert lines[0].startswith("| layer | units | quantized | parameters |")
    assert lines[2].startswith("| duspar | 128 | - | 103,715 | 1 | 80.00 |")
    assert lines[3].startswith("| duspar | 128 | int8 | 103,715 | 2 | 70.00 ±")
    assert len({line.count("|") for line in lines}) == 1


def test_enhancement_shows_the_noisy_input():
    import compare

    scores = {"noisy": 1.5, "enhanced": 2.5}
    test = {"pesq_wb": scores, "stoi": scores, "si_sdr": scores}
    lines = compare.table([result(task="se", test=test)]).splitlines()
    assert lines[2].startswith(
        "| noisy input | - | - | - | 1.500 | 150.00 | 1.50 |"
    )
    assert " 2.500 | 250.00 | 2.50 |" in lines[3]
    assert len({line.count("|") for line in lines}) == 1


def test_command_line(tmp_path, capsys):
    import compare

    for seed in (0, 1):
        folder = tmp_path / f"seed{seed}"
        folder.mkdir()
        (folder / "result.json").write_text(json.dumps(result(seed=seed)))
    assert compare.main([str(p) for p in sorted(tmp_path.iterdir())]) == 0
    assert "80.00 ± 0.00" in capsys.readouterr().out
    (tmp_path / "empty").mkdir()
    assert compare.main([str(tmp_path / "empty")]) == 1
    assert "no result.json" in capsys.readouterr().err
