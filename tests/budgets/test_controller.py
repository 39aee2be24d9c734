"""The controller of a budget, on a model of a model."""

import math

import pytest

from keras_duspar.budgets import targets
from keras_duspar.budgets.controller import Controller

pytestmark = pytest.mark.any_backend


def train(controller, steps, occupancy=0.45, pull=0.02):
    """A model whose occupancy follows the logarithm of the weight slowly."""
    for _ in range(steps):
        wanted = 0.45 - 0.08 * math.log1p(controller.weight / 0.05)
        occupancy += pull * (wanted - occupancy)
        controller.update(occupancy)
    return occupancy


@pytest.mark.parametrize("target", [0.35, 0.28, 0.18])
def test_target_is_reached_and_held(target):
    controller = Controller(target, 1800)
    half = train(controller, 900)
    assert abs(half - controller.aim) < 0.04
    assert controller.aim == pytest.approx((0.45 + target) / 2, abs=0.005)
    end = train(controller, 1500, half)
    assert controller.aim == target
    assert abs(end - target) < 0.005
    assert abs(controller.occupancy - target) < 0.005


def test_aim_is_the_target_where_the_model_is_below_it():
    controller = Controller(0.5, 100)
    train(controller, 400)
    assert controller.aim == 0.5
    assert controller.weight == pytest.approx(0.3e-2)


def test_numbers_that_are_none_are_passed_over():
    controller = Controller(0.3, 100)
    controller.update(math.nan)
    assert controller.start is None and controller.weight == 0
    train(controller, 10)
    before = controller.get_state()
    for value in (math.nan, math.inf, -math.inf):
        controller.update(value)
        controller.calibrate(value)
    assert controller.get_state() == {**before, "step": before["step"] + 3}


def test_state_goes_on_to_the_bit():
    whole, first, second = (Controller(0.3, 200) for _ in range(3))
    whole.update(0.4)
    first.update(0.4)
    second.set_state(first.get_state())
    for controller in (whole, second):
        controller.calibrate(0.42)
        train(controller, 50)
    assert whole.get_state() == second.get_state()


def test_other_data_decides():
    """Augmented data of another occupancy, of which validation tells."""
    controller, occupancy = Controller(0.3, 1000), 0.45
    for _ in range(8):
        occupancy = train(controller, 250, occupancy)
        controller.calibrate(occupancy + 0.03)
    assert abs(occupancy + 0.03 - 0.3) < 0.005


@pytest.mark.parametrize("loss", [0.001, -20.0])
def test_scale_is_that_of_the_loss(loss):
    controller = Controller(0.3, 100)
    controller.update(0.4, loss=loss)
    assert controller.weight == pytest.approx(0.3 * abs(loss), rel=0.1)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("0.28", {"occupancy": 0.28}),
        ("1.2M", {"macs_per_second": 1.2e6}),
        ("300k", {"macs_per_second": 3e5}),
        ("3us", {"microseconds": 3.0}),
    ],
)
def test_texts(text, expected):
    assert targets.parse(text) == expected


@pytest.mark.parametrize(
    "text", ["", "x", "0", "1.5", "-3us", "nan", "M", "3s"]
)
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match=f"`budget` must be .*'{text}'"):
        targets.parse(text)
