"""What occupancy costs, so that training follows an aim down to a target."""

import math

WEIGHT = 0.3  # of the loss, after the first step: hardly felt
LEAST, MOST = 1e-2, 1e6  # of that
GAIN = 0.02  # of the weight's logarithm, for each step that is all too dear
WINDOW = 50  # steps of the running mean
NEAREST = 0.02  # a start that is nearer to the target changes no faster


class Controller:
    """Sets the weight of the penalty after every training step.

    The aim falls in a line from the occupancy of the first step to the
    target. The weight grows while the running mean of the occupancy is above
    the aim and shrinks while it is below:

    ```
    weight *= exp(gain * (occupancy - aim) / (start - target))
    ```

    It is zero in the first step, whose loss tells the scale to begin with.

    Args:
        target: Float, the occupancy to reach.
        steps: Positive integer, steps in which the aim falls to it. If they
            are few, the gain is larger.
    """

    def __init__(self, target, steps):
        self.target, self.steps = target, steps
        self.step, self.weight = 0, 0.0
        self.start = self.occupancy = self.first = None
        self.bias = 0.0

    @property
    def aim(self):
        """The occupancy that the model should have now."""
        if self.start is None or self.start <= self.target:
            return self.target
        left = max(0.0, 1 - self.step / self.steps)
        return self.target + left * (self.start - self.target)

    def update(self, occupancy, steps=1, loss=1.0):
        """Takes the occupancy of a training step.

        Args:
            occupancy: Float. If it is not finite, it is passed over.
            steps: Integer, steps since the last call. Default: 1.
            loss: Float, what else is minimized. Default: 1.
        """
        self.step += steps
        occupancy += self.bias
        if not math.isfinite(occupancy):
            return
        if self.start is None:
            self.start = self.occupancy = occupancy
            usable = math.isfinite(loss) and loss != 0
            self.first = self.weight = WEIGHT * (abs(loss) if usable else 1.0)
        window = min(self.step, WINDOW, max(1, self.steps // 20))
        change = occupancy - self.occupancy
        self.occupancy += change * min(1, steps / window)
        gain = max(GAIN, 5 / self.steps) * steps
        # What it will be, as it changes now, against what it should be.
        error = (self.occupancy + change - self.aim) / max(
            self.start - self.target, NEAREST
        )
        # A step moves the weight by at most a factor of e.
        factor = math.exp(min(1.0, max(-1.0, gain * error)))
        weight = max(LEAST * self.first, self.weight * factor)
        self.weight = min(MOST * self.first, weight)

    def calibrate(self, occupancy):
        """Takes the occupancy on other data than that of training.

        Augmented data may have another one: from now on, the difference is
        added to what training steps have.
        """
        if self.occupancy is not None and math.isfinite(occupancy):
            self.bias += occupancy - self.occupancy
            self.occupancy = occupancy

    def get_state(self):
        """What training needs to go on, as plain numbers."""
        names = ("step", "weight", "first", "start", "occupancy", "bias")
        return {name: getattr(self, name) for name in names}

    def set_state(self, state):
        """Goes on from what `get_state()` has returned."""
        for name, value in state.items():
            setattr(self, name, value)
