"""Ray: connecting to it, and trials as its tasks."""

import contextlib
import os
import socket

from keras_duspar.utils.optional import optional_package
from trainer.errors import TrainingError

# How often Ray is started on this machine before it is given up. Up to version
# 2.60 one of its processes ends if another does not answer within 15 seconds,
# whatever is set (ray-project/ray#65983).
ATTEMPTS = 5
# How long it waits for its own processes. By itself it gives each 30 seconds,
# which are too few on a machine that is busy.
PATIENCE = {
    "RAY_raylet_start_wait_time_s": "90",
    "RAY_gcs_server_port_wait_time_s": "90",
    "RAY_agent_register_timeout_ms": "90000",
}


@contextlib.contextmanager
def connected(address, cpus, gpus, backend):
    """Ray on this machine, or a cluster, while the block runs.

    Args:
        address: String, the address of a cluster, or `None` to start Ray on
            this machine.
        cpus: Float, cores of a trial.
        gpus: Float, GPUs of a trial.
        backend: String, the Keras backend of the trials.

    Yields:
        The module `ray`.
    """
    # It would send statistics to its makers.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Trials without a GPU must not see one.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "1")
    for name, value in PATIENCE.items():
        os.environ.setdefault(name, value)
    ray = optional_package("ray", "sweep")
    if address is not None:
        check_address(address)
    threads = str(max(1, int(cpus)))
    variables = {
        "KERAS_BACKEND": backend,
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "OMP_NUM_THREADS": threads,
        "TF_NUM_INTRAOP_THREADS": threads,
        "TF_NUM_INTEROP_THREADS": threads,
    }
    if 0 < gpus < 1:  # else the first trial takes all of the memory
        variables["XLA_PYTHON_CLIENT_MEM_FRACTION"] = f"{0.9 * gpus:.3f}"
        variables["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
    options = {
        # By itself Ray would join whatever was started here before.
        "address": address or "local",
        "runtime_env": {"env_vars": variables},
        "logging_level": "ERROR",
        "log_to_driver": False,
    }
    if address is None:
        options["include_dashboard"] = False
    for attempt in range(ATTEMPTS):
        try:
            ray.init(**options)
            break
        except Exception as error:  # its errors have no class in common
            ray.shutdown()
            # A machine that is busy may miss other times that Ray allows.
            if address is None and attempt + 1 < ATTEMPTS:
                continue
            where = f"at `--address` {address}" if address else "here"
            raise TrainingError(
                f"Ray does not answer {where}: {error}"
            ) from error
    try:
        check_resources(ray, cpus, gpus)
        yield ray
    finally:
        ray.shutdown()


def check_address(address):
    """Raises if nobody listens at an address: Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():  # such as "auto"
        return
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except OSError as error:
        raise TrainingError(
            f"Ray does not answer at `--address` {address} ({error})."
        ) from error


def check_resources(ray, cpus, gpus):
    """Raises if no node has what a trial asks for: it would wait for ever."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    for node in nodes:
        if node.get("CPU", 0) >= cpus and node.get("GPU", 0) >= gpus:
            return
    most = {
        kind: max((node.get(kind, 0) for node in nodes), default=0)
        for kind in ("CPU", "GPU")
    }
    raise TrainingError(
        "`--cpus` and `--gpus` must fit on one node. Received: "
        f"{cpus:g} and {gpus:g} per trial, while the nodes have up to "
        f"{most['CPU']:g} and {most['GPU']:g}."
    )
