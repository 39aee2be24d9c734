"""One model trained by several processes, each on its part of every batch.

The processes find each other by the arguments of `--distributed`, or by
environment variables; all of them see the same run folder. The first one
leads: it writes the checkpoints, validates and tests. The model that is
validated and saved is a copy that it has for itself.
"""

import contextlib
import ctypes
import dataclasses
import os
import signal
import socket
import sys
import time

import keras
import numpy as np

from keras_duspar.utils.optional import optional_package
from trainer.errors import TrainingError

# Setting to the environment variables that it is taken from.
VARIABLES = {
    "coordinator": (
        "KERAS_DISTRIBUTION_JOB_ADDRESSES",
        "JAX_COORDINATOR_ADDRESS",
    ),
    "processes": ("KERAS_DISTRIBUTION_NUM_PROCESSES", "JAX_NUM_PROCESSES"),
    "process": ("KERAS_DISTRIBUTION_PROCESS_ID", "JAX_PROCESS_ID"),
}
# Seconds that processes wait for each other at the start.
PATIENCE = 300
# Seconds without a sign of life after which a process counts as dead.
HEARTBEAT = 60
# What errors of communication have in them, whatever their class.
SIGNS = ("Gloo", "NCCL", "UNAVAILABLE", "DEADLINE", "Connection", "heartbeat")
LOST = (
    "Training stopped: another process of the job has ended, or cannot be "
    "reached. Its own output says why. The last checkpoint is whole: start "
    "all processes again with `--resume`."
)


class Alone:
    """What the engine asks of a job, answered by a single process."""

    leads = True

    def share(self, batches):
        """The part of the batches that this process makes."""
        return batches

    def scope(self):
        """Where what is trained is made and called."""
        return contextlib.nullcontext()

    def twin(self, model, build):
        """The model that is trained, with the weights of `model`."""
        return model

    def copy(self, twin, model):
        """Brings what was trained into the model that is saved."""

    def check_agreement(self, step):
        """Raises unless all processes begin at the same step."""

    def watched(self):
        """Where other processes are waited for."""
        return contextlib.nullcontext()

    def end(self):
        """Leaves the job once training is done."""


@dataclasses.dataclass
class Job(Alone):
    """A process among others that train the same model.

    Args:
        distribution: A `keras.distribution.DataParallel` over the devices of
            all processes.
        process: Integer, the number of this process.
        processes: Integer, how many there are.
        devices: Integer, how many devices they have.
    """

    distribution: keras.distribution.DataParallel
    process: int
    processes: int
    devices: int

    @property
    def leads(self):
        return self.process == 0

    def share(self, batches):
        if batches.batch_size % self.devices:
            raise TrainingError(
                "`--batch-size` must be a multiple of the number of devices "
                f"of all processes, {self.devices}. Received: "
                f"{batches.batch_size}."
            )
        batches.batch_size //= self.processes
        return batches.shard(self.process, self.processes)

    def scope(self):
        return self.distribution.scope()

    def twin(self, model, build):
        twin = build()
        self.copy(model, twin)
        return twin

    def copy(self, twin, model):
        for target, source in zip(model.weights, twin.weights):
            target.assign(keras.ops.convert_to_numpy(source))

    def check_agreement(self, step):
        utilities = optional_package("jax.experimental.multihost_utils")
        with self.watched():
            steps = utilities.process_allgather(np.array(step)).tolist()
        if len(set(steps)) > 1:
            raise TrainingError(
                "`--out` must be a folder that all processes share. They "
                f"found checkpoints of the steps {steps} in it."
            )

    @contextlib.contextmanager
    def watched(self):
        jax = optional_package("jax")
        try:
            yield
        except (jax.errors.JaxRuntimeError, ValueError) as error:
            if not any(sign in str(error) for sign in SIGNS):
                raise
            raise TrainingError(f"{LOST} ({_first_line(error)})") from error

    def end(self):
        # The leader tests the model alone: nobody has to wait for it.
        optional_package("jax").distributed.shutdown()


def add_arguments(parser):
    """Adds the flags of jobs to an `argparse` parser."""
    group = parser.add_argument_group(
        "one model on several machines",
        "Start the same command on each, with the JAX backend. What is not "
        "given is taken from KERAS_DISTRIBUTION_JOB_ADDRESSES, _NUM_PROCESSES "
        "and _PROCESS_ID, from JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and "
        "JAX_PROCESS_ID, or from Slurm, Open MPI or a TPU pod.",
    )
    group.add_argument(
        "--distributed",
        action="store_true",
        help="train with other processes, each on its part of every batch",
    )
    group.add_argument(
        "--coordinator",
        metavar="HOST:PORT",
        help="where process 0 listens, the same for all",
    )
    group.add_argument(
        "--processes", type=int, help="how many processes there are"
    )
    group.add_argument(
        "--process", type=int, help="the number of this one, from 0"
    )


def join(given):
    """Joins the job that the arguments or the environment describe.

    Args:
        given: Dictionary with `"coordinator"`, `"processes"` and
            `"process"`, each a value or `None`.

    Returns:
        A `Job`.
    """
    if keras.config.backend() != "jax":
        raise TrainingError(
            "`--distributed` needs `--backend jax`. Received: "
            f"{keras.config.backend()}."
        )
    given = {name: _value(name, given[name]) for name in VARIABLES}
    known = [name for name, value in given.items() if value is not None]
    if known and len(known) < len(given):
        missing = [f"`--{name}`" for name in given if name not in known]
        raise TrainingError(
            "`--distributed` needs all or none of `--coordinator`, "
            f"`--processes` and `--process`. Missing: {', '.join(missing)}."
        )
    if given["coordinator"] is not None:
        find_coordinator(**given)
    jax = optional_package("jax")
    explain_abort()
    # Harmless where there are GPUs.
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    try:
        jax.distributed.initialize(
            given["coordinator"],
            given["processes"],
            given["process"],
            initialization_timeout=PATIENCE,
            heartbeat_timeout_seconds=HEARTBEAT,
        )
    except (RuntimeError, ValueError) as error:
        raise TrainingError(
            "The processes of `--distributed` did not find each other "
            f"({_first_line(error)}). They need `--coordinator`, "
            "`--processes` and `--process`, or the variables in `--help`."
        ) from error
    # Batches are made in parts already.
    distribution = keras.distribution.DataParallel(auto_shard_dataset=False)
    return Job(
        distribution,
        jax.process_index(),
        jax.process_count(),
        jax.device_count(),
    )


def find_coordinator(coordinator, processes, process, patience=PATIENCE):
    """Waits until process 0 listens; JAX would crash if it does not.

    Args:
        coordinator: String, `"HOST:PORT"`.
        processes: Integer, how many processes there are.
        process: Integer, the number of this one.
        patience: Seconds to wait.
    """
    host, _, port = coordinator.rpartition(":")
    if not host or not port.isdigit():
        raise TrainingError(
            f"`--coordinator` must be HOST:PORT. Received: {coordinator}."
        )
    if not 0 <= process < processes:
        raise TrainingError(
            f"`--process` must lie in [0, {processes}). Received: {process}."
        )
    print(
        f"Process {process} waits for {processes - 1} other(s), at most "
        f"{patience:g} seconds.",
        file=sys.stderr,
        flush=True,
    )
    until = time.monotonic() + patience
    while process:
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
            return
        except OSError as error:
            if time.monotonic() > until:
                raise TrainingError(
                    f"Process 0 does not listen at `--coordinator` "
                    f"{coordinator} ({error})."
                ) from error
            time.sleep(0.5)


def explain_abort():
    """Ends this process with a message where JAX would abort it.

    A thread of JAX aborts the process when it learns that process 0 is gone,
    which may be before the training itself does. Python's own handlers only
    run later, in the main thread; `abort()` does not wait for that.
    """
    if os.name != "posix":
        return

    def end(number):
        os.write(2, f"{LOST}\n".encode())
        os._exit(1)

    _handlers.append(ctypes.CFUNCTYPE(None, ctypes.c_int)(end))
    ctypes.CDLL(None).signal(signal.SIGABRT, _handlers[-1])


# C does not keep what it is given alive.
_handlers = []


def leave(job, code):
    """Ends a process of a job at once; alone, returns the exit code.

    Python would wait for processes that may be gone, and those that are not
    would wait for this one.
    """
    if job is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _value(name, given):
    """What was given, or what the environment says, or `None`."""
    if given is not None:
        return given
    for variable in VARIABLES[name]:
        text = os.environ.get(variable)
        if not text:
            continue
        if name == "coordinator":
            return text.split(",")[0]
        if not text.isdigit():
            raise TrainingError(
                f"{variable} must be an integer. Received: {text}."
            )
        return int(text)
    return None


def _first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
