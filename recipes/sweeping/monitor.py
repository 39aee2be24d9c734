"""What a sweep shows while it runs: a table with the time that is left."""

import collections
import statistics

import rich.live
import rich.table

from pages import formats
from sweeping.driver import DONE
from sweeping.driver import FAILED
from sweeping.driver import RUNNING
from sweeping.driver import WAITING
from tasks import METRICS
from tasks import TASKS
from tasks import layer_title

STATES = (DONE, RUNNING, WAITING, FAILED)


class Monitor:
    """Shows a sweep: a table in a terminal, else a line for every trial.

    Args:
        console: A `rich.console.Console`.
    """

    def __init__(self, console):
        self.console = console
        self.live = rich.live.Live(console=console, auto_refresh=False)

    def __enter__(self):
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *_):
        self.live.stop()

    def show(self, sweep):
        """Draws the table anew."""
        if self.console.is_terminal:
            self.live.update(table(sweep), refresh=True)

    def died(self, trial, count, again, reason):
        """Says that the process of a trial is gone."""
        after = "goes on from its checkpoint" if again else "is given up"
        self.print(f"{trial.name} died ({count}): {reason} It {after}.")

    def ended(self, sweep, trial, error):
        """Says how a trial ended."""
        row = sweep.rows[trial.name]
        what = f"failed: {error}"
        if not error:
            task = TASKS[row["task"]]
            scores = ", ".join(
                f"{METRICS[name].title} "
                f"{formats.metric(name, row['/'.join(task.path(name))])}"
                for name in task.metrics
            )
            macs = row["effective_macs"]
            effective = formats.metric("effective_macs", macs)
            what = f"{scores}, {effective}, {formats.duration(row['seconds'])}"
        self.print(f"{trial.name}: {what} ({summary(sweep)})")

    def print(self, text):
        """Prints a line."""
        self.console.print(text, highlight=False, soft_wrap=True, markup=False)


def table(sweep):
    """The table of the models, and what they are waiting for."""
    counts = collections.defaultdict(collections.Counter)
    for trial in sweep.planned:
        counts[trial.config.model][sweep.state(trial)] += 1
    drawn = rich.table.Table(title=summary(sweep), title_justify="left")
    drawn.add_column("model")
    for state in (*STATES, "going on"):
        drawn.add_column(state, justify="left" if state == "going on" else None)
    for model, states in counts.items():
        now = [
            f"{trial.name} {epochs(sweep, trial)}/{trial.config.epochs}"
            for trial in sweep.planned
            if trial.config.model == model and sweep.state(trial) == RUNNING
        ]
        drawn.add_row(
            layer_title(model),
            *(str(states[state] or "") for state in STATES),
            "\n".join(now),
        )
    return drawn


def summary(sweep):
    """One line: how many trials are done, and the time that is left."""
    left = time_left(sweep)
    text = f"{len(sweep.rows)} of {len(sweep.planned)} trials"
    if left is None:
        return text
    return f"{text}, about {formats.duration(left)} left"


def time_left(sweep):
    """Seconds until the last trial ends, guessed from those that have.

    A trial will take as long as those of its model and width did, else as
    those of its model, else as any.

    Returns:
        A float, or `None` as long as nothing is known.
    """
    known = collections.defaultdict(list)
    for row in sweep.rows.values():
        if row["status"] == DONE:
            for key in ((row["model"], row["units"]), (row["model"],), ()):
                known[key].append(row["seconds"])
    if not known:
        return None
    left, running = 0.0, 0
    for trial in sweep.planned:
        if trial.name in sweep.rows:
            continue
        config = trial.config
        keys = ((config.model, config.units), (config.model,), ())
        seconds = statistics.mean(next(known[k] for k in keys if k in known))
        if sweep.state(trial) == RUNNING:
            running += 1
            seconds *= 1 - epochs(sweep, trial) / config.epochs
        left += seconds
    return left / max(1, running)


def epochs(sweep, trial):
    """How many epochs a trial that runs has done."""
    try:
        with open(sweep.path(trial) / "metrics.csv", encoding="utf-8") as file:
            return sum(1 for _ in file) - 1
    except OSError:
        return 0
