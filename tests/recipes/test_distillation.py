"""Training that learns from a teacher's scores as well."""

import keras
import numpy as np
import pytest

from keras_duspar import models
from tests.recipes.test_recipes import start

LABELS = ("go", "no", "stop")


def softmax(values):
    values = np.exp(values - values.max(axis=-1, keepdims=True))
    return values / values.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_loss(weight):
    from trainer import distillation

    rng = np.random.default_rng(0)
    labels = np.array([2, 0, 1, 1])
    teacher, student = rng.normal(0, 3, (2, 4, 3)).astype("float32")
    hard = -np.log(softmax(student)[np.arange(4), labels])
    soft = -(softmax(teacher / 2) * np.log(softmax(student / 2))).sum(axis=-1)
    expected = np.mean((1 - weight) * hard + weight * 4 * soft)
    loss = distillation.Distillation(weight)
    given = distillation.targets(labels, teacher)
    np.testing.assert_allclose(
        keras.ops.convert_to_numpy(loss(given, student)), expected, rtol=1e-5
    )


def test_accuracy_is_that_of_the_labels():
    from trainer import distillation

    scores = np.eye(3, dtype="float32")[[0, 1, 2, 2]]
    teacher = -scores  # which is always wrong
    metric = distillation.Accuracy()
    metric.update_state(distillation.targets([0, 1, 2, 0], teacher), scores)
    assert float(metric.result()) == 0.75


def make_task(**settings):
    import kws
    from tests.recipes.fake_data import tone

    task = object.__new__(kws.KeywordSpotting)  # without data
    task.config = kws.Config(**settings)
    task.teacher = keras.Sequential(
        [keras.Input((None,)), keras.layers.Lambda(lambda x: x[:, :3])]
    )
    audio = np.stack([tone(20000, level) for level in (0.1, 0.2)])
    return task, audio.astype("float32")


@pytest.mark.any_backend
def test_teacher_hears_the_clip_without_what_precedes_it():
    task, audio = make_task()
    inputs, targets = task.feed_training((audio, np.array([1, 2])))
    np.testing.assert_array_equal(inputs, audio)
    np.testing.assert_array_equal(targets[:, 0], [1, 2])
    np.testing.assert_allclose(targets[:, 1:], audio[:, 4000:4003])


@pytest.mark.any_backend
def test_run_learns_from_its_teacher(tmp_path, cache):
    def weights(name, more):
        assert start("kws", tmp_path / name, cache, more) == 0
        model = keras.models.load_model(tmp_path / name / "model.keras")
        assert model.output.shape == (None, 35)
        return np.concatenate([w.ravel() for w in model.get_weights()])

    weights("teacher", "")
    alone = weights("alone", "--seed 1")
    more = f"--seed 1 --teacher {tmp_path / 'teacher'}"
    # Without its share of the loss the teacher changes nothing.
    ignored = weights("ignored", f"{more} --teacher-weight 0")
    np.testing.assert_allclose(ignored, alone, atol=1e-5)
    assert np.abs(weights("taught", more) - alone).max() > 1e-3


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.mark.any_backend
@pytest.mark.parametrize(
    "labels, classes, message",
    [
        (("go", "no", "on"), 3, "labels of the data: go, no, stop. .* on"),
        (None, 4, "must return 3 scores"),
    ],
)
def test_other_classes(tmp_path, labels, classes, message):
    from trainer import distillation
    from trainer.errors import TrainingError

    given = {"labels": labels} if labels else {"num_classes": classes}
    models.keyword_spotter(units=4, **given).save(tmp_path / "model.keras")
    with pytest.raises(TrainingError, match=f"`--teacher` .*{message}"):
        distillation.load_teacher(tmp_path, LABELS)


@pytest.mark.any_backend
def test_teacher_of_another_task(tmp_path, cache, capsys):
    models.speech_enhancer(units=4, num_layers=1).save(tmp_path / "a.keras")
    given = f"--teacher {tmp_path / 'a.keras'}"
    assert start("kws", tmp_path / "out", cache, given) == 1
    assert "`--teacher` must return 35 scores" in capsys.readouterr().err
    assert start("kws", tmp_path / "b", cache, "--teacher nowhere") == 1
    assert "`--teacher` must name a run" in capsys.readouterr().err
