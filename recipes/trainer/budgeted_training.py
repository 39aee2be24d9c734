"""A compute budget in a run."""

import keras_duspar
from keras_duspar.budgets import targets
from keras_duspar.utils import checks
from trainer import distributed
from trainer.errors import TrainingError

TOLERANCE = 0.005  # of the occupancy, for an epoch to be within the budget


def check(config):
    """Raises if the settings of a budget are wrong."""
    checks.number("budget_width", config.budget_width, "(0, inf)")
    if config.budget is not None:
        # YAML has numbers.
        config.budget = str(config.budget)
        targets.parse(config.budget)
    if config.budget_table and not (config.budget or "").endswith("us"):
        raise checks.bad_value(
            "budget_table",
            "None without a time in `budget`",
            config.budget_table,
        )


def callback(config, job, steps):
    """The `Budget` of a run, or `None`.

    Args:
        config: A `Config`.
        job: A `distributed.Job`.
        steps: Integer, training steps of the run.
    """
    if config.budget is None:
        return None
    if isinstance(job, distributed.Job):
        raise TrainingError(
            "`budget` must be left out with `--distributed`. Start from the "
            "run in one process: `--budget 0.28 --start RUN`."
        )
    return keras_duspar.callbacks.Budget(
        **targets.parse(config.budget),
        table=config.budget_table,
        steps=max(1, round(0.6 * steps)),
        width=config.budget_width,
    )


def batches(training):
    """Validation batches that tell the occupancy of an epoch."""
    return 1 if training.budget is None else 4


def excess(budget, row):
    """How far an epoch is above the budget, 0 if it is within."""
    if budget is None:
        return 0.0
    over = row["budget_occupancy"] - budget.controller.target
    return max(0.0, over - TOLERANCE)
