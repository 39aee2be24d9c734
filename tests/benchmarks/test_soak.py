"""The soak test, of half a minute."""

import pytest

from keras_duspar import native

pytestmark = pytest.mark.any_backend


def test_soak(capsys):
    import soak

    assert soak.main(["--minutes", "0.35", "--threads", "3"]) in (0, 1)
    lines = capsys.readouterr().out.splitlines()
    assert native.kernels()[0] in lines[0]
    # Memory may settle later than in so short a run.
    assert [line for line in lines if line.endswith(": yes")][:4] == [
        "finite: yes",
        "outputs and states identical: yes",
        "counters identical: yes",
        "as many steps as there must be: yes",
    ]
