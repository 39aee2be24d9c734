"""A few random models in C under sanitizers, and that faults are seen."""

import random
import re

import pytest

from tests.fuzz import exported
from tests.helpers import skip_unless_deployable
from tests.micro.compiled import compiler

pytestmark = pytest.mark.any_backend


def test_random_models(tmp_path):
    compiler()
    skip_unless_deployable()
    said = []
    done, _, bad = exported.run(seed=3, cases=3, report=said.append)
    assert (done, bad) == (3, 0), said


@pytest.mark.parametrize(
    "change, message",
    [
        # A state too few, a constant too many, numbers that are others.
        (("MODEL_MEMORY ", "MODEL_MEMORY -1 + "), "AddressSanitizer"),
        (
            ("m->floats = model_floats", "m->floats = model_floats + 1"),
            "FAIL|S",
        ),
    ],
)
def test_faults_are_seen(tmp_path, change, message):
    found = compiler()
    rng = random.Random(5)
    while exported.export(rng, tmp_path)[0] is None:
        pass
    source = tmp_path / "model.c"
    text = source.read_text()
    assert change[0] in text
    source.write_text(text.replace(*change))
    assert re.search(message, exported.check(tmp_path, 1, found, rounds=3))
