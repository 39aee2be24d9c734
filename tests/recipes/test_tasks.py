"""The table of tasks, and names that tell modules apart."""

import collections

import pytest

import paper
import trainer
from keras_duspar import models
from tasks import METRICS
from tasks import TASKS
from tests.conftest import ROOT

pytestmark = pytest.mark.any_backend


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_task_names_what_there_is(task):
    recipe = task.recipe_class()
    assert issubclass(recipe, trainer.Task)
    assert recipe.config_class.task == task.name
    assert callable(getattr(models, task.builder))
    assert set(task.metrics) <= set(METRICS)
    for row in paper.ROWS:
        if row.task == task.name:
            assert set(row.metrics) == set(task.metrics)


def test_paths_lead_to_the_metrics():
    assert TASKS["kws"].path("accuracy") == ("test", "accuracy")
    assert TASKS["se"].path("stoi") == ("test", "stoi", "enhanced")
    assert TASKS["se"].path("stoi", "noisy") == ("test", "stoi", "noisy")


def test_no_recipe_module_has_the_name_of_another():
    names = collections.defaultdict(set)
    for room in ("keras_duspar", "recipes", "benchmarks", "studies"):
        for path in (ROOT / room).rglob("*.py"):
            if path.name != "__init__.py":
                names[path.stem].add(path.relative_to(ROOT).as_posix())
        for path in (ROOT / room).rglob("__init__.py"):
            names[path.parent.name].add(
                path.parent.relative_to(ROOT).as_posix()
            )
    # What users type stays, and the data has a vocabulary of its own.
    ours = ("recipes/", "benchmarks/", "studies/")
    clashes = {
        name: sorted(places)
        for name, places in names.items()
        if len(places) > 1
        and any(place.startswith(ours) for place in places)
        and name not in ("report", "base", "batches", "decoding")
    }
    assert not clashes
