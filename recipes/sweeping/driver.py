"""The driver of a sweep: starts trials, takes up those that die, counts."""

import collections
import time

from sweeping import results
from sweeping import speed
from sweeping import trial as trials
from trainer import config as configs
from trainer.errors import TrainingError

RUNS = "runs"
# A worker is replaced after so many trials: frameworks keep compiled code.
TRIALS_OF_A_WORKER = 16
WAITING, RUNNING, DONE, FAILED = "waiting", "running", "finished", "failed"


class Sweep:
    """A sweep in its folder, new or to go on with.

    Args:
        planned: List of `grid.Trial`.
        out: `RunFolder` of the sweep.
        arguments: List of strings, the command line, to note in the runs.
    """

    def __init__(self, planned, out, arguments):
        self.planned = planned
        self.out = out
        self.arguments = arguments
        self.started = time.time()
        self.rows = {}
        self.deaths = collections.Counter()
        self.in_flight = {}
        self._check_settings()
        for trial in planned:
            if trials.finished(self.path(trial)):
                self.rows[trial.name] = results.row(trial, self.path(trial))

    def path(self, trial):
        """The run folder of a trial."""
        return self.out / RUNS / trial.name

    def _check_settings(self):
        """Runs that are there must have been made with the same settings."""
        for trial in self.planned:
            file = self.path(trial) / "config.json"
            if not file.is_file():
                continue
            saved = configs.read(file)
            changed = [
                f"{name}={value!r} in place of {saved[name]!r}"
                for name, value in trial.config.to_dict().items()
                if name in saved and saved[name] != value
            ]
            if changed:
                raise TrainingError(
                    "A sweep must go on with the settings that it began with, "
                    "or in another `--out`. Received: "
                    f"{', '.join(changed)} for {self.path(trial)}."
                )

    def run(self, ray, monitor, workers, retries, cpus, gpus):
        """Runs all trials that are not finished.

        Args:
            ray: The module, connected.
            monitor: A `monitor.Monitor`.
            workers: Integer, the most trials at a time, or `None` for as many
                as Ray has room for.
            retries: Integer, how often a trial that dies is taken up again.
            cpus: Float, cores of a trial.
            gpus: Float, GPUs of a trial.
        """
        waiting = collections.deque(
            trial for trial in self.planned if trial.name not in self.rows
        )
        task = ray.remote(
            num_cpus=cpus,
            num_gpus=gpus,
            # Trials are taken up again here, where it is counted and shown.
            max_retries=0,
            max_calls=TRIALS_OF_A_WORKER,
        )(trials.run)
        monitor.show(self)
        while waiting or self.in_flight:
            while waiting and len(self.in_flight) < (workers or len(waiting)):
                trial = waiting.popleft()
                future = task.remote(
                    trial.config.task,
                    trial.config.to_dict(),
                    self.path(trial),
                    self.arguments,
                )
                self.in_flight[future] = trial
            ended, _ = ray.wait(list(self.in_flight), timeout=2)
            for future in ended:
                trial = self.in_flight.pop(future)
                if self._died(ray, future, trial, retries, monitor):
                    waiting.appendleft(trial)
            monitor.show(self)

    def _died(self, ray, future, trial, retries, monitor):
        """Takes note of how a trial ended; whether it is to be taken up."""
        try:
            error = ray.get(future)
        except ray.exceptions.RayTaskError as broken:
            # The node lacks this program or one of its packages.
            error = str(broken).strip().splitlines()[-1]
        except ray.exceptions.RayError as lost:
            # The process or the node is gone.
            reason = str(lost).strip().splitlines()[0]
            self.deaths[trial.name] += 1
            again = self.deaths[trial.name] <= retries
            monitor.died(trial, self.deaths[trial.name], again, reason)
            if again:
                return True
            error = (
                f"The process of the trial ended {retries + 1} times: {reason}"
            )
        self.rows[trial.name] = results.row(trial, self.path(trial), error)
        self.write()
        monitor.ended(self, trial, error)
        return False

    def write(self):
        """Writes the table of all trials that have ended, in their order."""
        rows = [
            self.rows[trial.name]
            for trial in self.planned
            if trial.name in self.rows
        ]
        if rows:
            results.write(self.out, rows)

    def measure(self, audio, seconds, monitor):
        """Measures the models that have not been, and writes the table."""
        done = [t for t in self.planned if self.state(t) == DONE]
        paths = [
            self.path(trial)
            for trial in done
            if not (self.path(trial) / speed.FILE).is_file()
        ]
        if paths:
            monitor.print(f"Measuring {len(paths)} models in the interpreter.")
        speed.measure(paths, audio, seconds)
        for trial in done:
            self.rows[trial.name] = results.row(trial, self.path(trial))
        self.write()

    def state(self, trial):
        """Where a trial is: one of the states of this module."""
        if trial.name in self.rows:
            return self.rows[trial.name]["status"]
        lock = self.path(trial) / trials.LOCK
        begun = lock.is_file() and lock.stat().st_mtime >= self.started
        return RUNNING if begun else WAITING

    @property
    def failed(self):
        """The trials that failed, to what they failed with."""
        return {
            name: row["error"]
            for name, row in self.rows.items()
            if row["status"] == FAILED
        }
