"""Trains a task's model into a run folder, and goes on where it stopped."""

import functools
import math
import time

import keras
import rich.console
import tensorflow as tf

import keras_duspar
from datasets import pipeline
from datasets import progress as bars
from keras_duspar.layers import native_loop
from pages import run_page
from trainer import budgeted_training
from trainer import checkpoint
from trainer import distributed
from trainer import optimizers
from trainer import quantized_training
from trainer import starting
from trainer.errors import TrainingError


def run(task, folder, console=None, job=None, begin=None):
    """Trains, tests and reports.

    Args:
        task: A `Task`.
        folder: A `RunFolder`. If it has a checkpoint, training goes on there.
        console: A `rich.console.Console` to write to. Default: `None`, the
            standard output.
        job: A `distributed.Job` that this process is part of. Default:
            `None`, it trains alone.
        begin: Function that is called before the first step, once data,
            model and weights are known to fit. Default: `None`.

    Returns:
        The dictionary that is written to `result.json`; `None` in those
        processes of a job that only help to train.
    """
    console = console or rich.console.Console()
    job = job or distributed.Alone()
    training = Training(task, folder, console, job)
    if begin is not None:
        begin()
    training.run()
    job.end()
    return evaluate(task, folder) if job.leads else None


class Training:
    """The training of one run.

    Args:
        task: A `Task`.
        folder: A `RunFolder`.
        console: A `rich.console.Console`.
        job: A `distributed.Job`.
    """

    def __init__(self, task, folder, console, job):
        self.task, self.folder, self.console = task, folder, console
        self.config, self.job = task.config, job
        keras.utils.set_random_seed(self.config.seed)
        self.batches = job.share(task.batches("train", training=True))
        self.rounds_from = quantized_training.first_epoch(self.config)
        quantized_training.check_job(self.config, job)
        self.progress, arrays = checkpoint.read(folder)
        self.budget = budgeted_training.callback(
            self.config, job, self.config.epochs * len(self.batches)
        )
        model = task.build()
        if arrays is None:
            starting.start(task, model)
        quantized = self.progress.step > self.rounds_from * len(self.batches)
        if quantized:
            model = keras_duspar.quantize(model, self.config.quantize)
        self._use(model, quantized)
        if arrays is not None:
            with job.scope():
                checkpoint.restore(folder, self.trained, arrays)
        if self.progress.budget is not None:
            self.budget.controller.set_state(self.progress.budget)
        job.check_agreement(self.progress.step)
        if job.leads:
            if self.progress.step:
                console.print(f"going on after step {self.progress.step}")
            self.events = tf.summary.create_file_writer(
                str(folder / "tensorboard")
            )

    def _use(self, model, quantized):
        """Goes on with a model, in one of the two parts of a run."""
        self.model, self.quantized = model, quantized
        first, last = 0, min(self.rounds_from, self.config.epochs)
        rate = self.config.learning_rate
        if quantized:
            first, last = self.rounds_from, self.config.epochs
            rate *= quantized_training.RATE if first or self.config.start else 1
        self.phase, self.path_shown = None, False
        with self.job.scope():
            self.twin = self.job.twin(model, self.task.build)
            self.trained = self.task.augmented(self.twin)
            if self.budget is not None:
                self.budget.set_model(self.twin)
                self.budget.begin()
            self.optimizer = optimizers.adam(
                self.config, rate, max(1, last - first) * len(self.batches)
            )
            self._compile(first)
        if self.job.leads:
            self.occupancy = keras_duspar.callbacks.Occupancy(
                list(
                    self.task.unpadded(
                        "validation", budgeted_training.batches(self)
                    )
                )
            )
            self.occupancy.set_model(model)
            self.occupancy.on_train_begin()

    def _begin_epoch(self, epoch):
        if epoch >= self.rounds_from and not self.quantized:
            trained = bool(epoch or self.config.start)
            model = quantized_training.begin(
                self.task, self.folder, self.model, trained
            )
            self._use(model, quantized=True)
            self.progress.best = None  # of the float models
        frozen_from = quantized_training.first_frozen_epoch(self.config)
        if self.quantized and epoch >= frozen_from > self.rounds_from:
            keras_duspar.quantization.freeze(self.model)
        self._compile(epoch)

    def _compile(self, epoch):
        phase = self.task.phase(epoch)
        if phase != self.phase:
            self.phase = phase
            self.trained.compile(
                self.optimizer,
                self.task.loss(phase),
                metrics=[metric() for metric in self.task.metrics],
            )

    def run(self):
        """Trains to the last epoch."""
        steps = len(self.batches)
        first = self.progress.step // steps
        total = steps * self.config.epochs
        with bars.bar(
            "training", total, self.job.leads, console=self.console
        ) as advance:
            advance(self.progress.step)
            for epoch in range(first, self.config.epochs):
                name = f"epoch {epoch + 1}/{self.config.epochs}"
                step = functools.partial(advance, name=name)
                with self.job.scope(), self.job.watched():
                    self._begin_epoch(epoch)
                    self._train_epoch(epoch, step)
                self._end_epoch(epoch)

    def _train_epoch(self, epoch, advance):
        steps = len(self.batches)
        progress = self.progress
        dataset = pipeline.to_dataset(
            self.batches, progress.step, (epoch + 1) * steps
        )
        started = time.monotonic() - progress.seconds
        for batch in dataset.as_numpy_iterator():
            self._step(*self.task.feed(batch))
            self._show_path()
            advance()
            progress.seconds = time.monotonic() - started
            if (
                self.job.leads
                and progress.step % steps
                and not progress.step % self.config.checkpoint_steps
            ):
                checkpoint.save(self.folder, self.trained, progress)

    def _step(self, inputs, targets):
        # Sums are kept here and not by Keras, whose metrics cannot be
        # restored before they are first used.
        self.trained.reset_metrics()
        logs = self.trained.train_on_batch(inputs, targets, return_dict=True)
        loss = float(logs["loss"])
        if not math.isfinite(loss):
            raise TrainingError(
                f"The loss is {loss} at step {self.progress.step + 1}. The "
                "checkpoint before it and the best model.keras so far, if "
                f"there was an epoch, are kept in {self.folder.path}. Try a "
                "smaller `--learning-rate` or `--clipnorm`, in another `--out`."
            )
        if self.budget is not None:
            self.budget.after_steps(loss=loss)
            self.progress.budget = self.budget.controller.get_state()
        sums = self.progress.sums
        for name, value in {**logs, "count": 1}.items():
            sums[name] = sums.get(name, 0.0) + float(value)
        self.progress.step += 1

    def _show_path(self):
        """Says, once, what computes the recurrent layers in training."""
        if self.path_shown or not self.job.leads:
            return
        path = native_loop.used_by(self.twin.layers)
        if path:
            self.console.print(
                f"recurrent layers trained by {path}",
                highlight=False,
                soft_wrap=True,
            )
            if (self.folder / "environment.json").exists():
                known = self.folder.read_json("environment.json")
                known["recurrent_layers"] = path
                self.folder.write_json("environment.json", known)
        self.path_shown = True

    def _end_epoch(self, epoch):
        progress = self.progress
        started = time.monotonic()
        if not self.job.leads:
            progress.sums = {}
            return
        with self.job.watched():
            self.job.copy(self.twin, self.model)
        count = progress.sums.pop("count")
        row = {"epoch": epoch + 1}
        row |= {name: value / count for name, value in progress.sums.items()}
        row |= self.task.validate(self.model)
        self.occupancy.on_epoch_end(epoch, row)
        if self.budget is not None:
            self.budget.controller.calibrate(row["occupancy"])
            row |= self.budget.logs()
            progress.budget = self.budget.controller.get_state()
        row["learning_rate"] = float(
            keras.ops.convert_to_numpy(self.optimizer.learning_rate)
        )
        row["seconds"] = progress.seconds + time.monotonic() - started
        progress.rows.append(row)
        progress.sums, progress.seconds = {}, 0.0
        best = self._rank(row) > self._rank(progress.best)
        if best:
            progress.best = row
            with self.folder.replacing("model.keras") as path:
                self.model.save(path)
        checkpoint.save(self.folder, self.trained, progress)
        self.folder.write_csv("metrics.csv", progress.rows)
        self._log(row, best)

    def _rank(self, row):
        """What the best epoch has most of, as a tuple to compare."""
        if row is None:
            return ()
        values = [-budgeted_training.excess(self.budget, row)]
        for name in self.task.best_by:
            sign = -1 if name.startswith("-") else 1
            value = sign * row[name.lstrip("-")]
            values.append(value if math.isfinite(value) else -math.inf)
        return tuple(values)

    def _log(self, row, best):
        with self.folder.writing("tensorboard"), self.events.as_default():
            for name, value in row.items():
                tf.summary.scalar(name, value, step=row["epoch"])
            self.events.flush()
        shown = ", ".join(
            f"{name} {value:.4g}"
            for name, value in row.items()
            if name not in ("epoch", "learning_rate", "effective_macs")
            and "/" not in name
        )
        star = " (best)" if best else ""
        self.console.print(
            f"epoch {row['epoch']}: {shown}{star}",
            highlight=False,
            soft_wrap=True,
        )


def evaluate(task, folder):
    """Tests and profiles the best model of a run, and writes the report."""
    model = keras.models.load_model(folder / "model.keras")
    progress, _ = checkpoint.read(folder)
    profile = keras_duspar.profile(model, task.unpadded("test"))
    folder.write_json("profile.json", profile.to_dict())
    config = task.config
    result = {
        "task": config.task,
        "model": config.model,
        "units": config.units,
        "seed": config.seed,
        "data": task.data.name,
        "best_epoch": progress.best["epoch"],
        "epochs": config.epochs,
        "parameters": profile.params,
        "dense_macs": profile.dense_macs,
        "effective_macs": profile.effective_macs,
        "occupancy": profile.occupancy,
        "validation": {
            name.removeprefix("val_"): value
            for name, value in progress.best.items()
            if name.startswith("val_")
        },
        "test": task.test(model, folder),
        "seconds": sum(row["seconds"] for row in progress.rows),
    }
    if config.quantize is not None:
        result["quantization"] = quantized_training.evaluate(
            task, folder, model
        )
    folder.write_json("result.json", result)
    run_page.write(folder.path)
    return result
