"""How long is a training step: Keras' loop, the native library, a GRU?

    taskset -c 0 python benchmarks/training_time.py --backend jax --task kws

The recurrent parts of the paper's three models, with a dense layer before
(enhancement) and after them, are trained on random numbers. DuSpaR by Keras'
loop, DuSpaR by the native library and a GRU of equal size make a step in
turn, so that all see the same machine, with one thread. Printed are medians of
the process' processor time, which other processes disturb less than the
clock, its spread from the first to the third quarter, and the clock's time.
With `--backend torch` also `torch.nn.GRU`.
"""

import argparse
import dataclasses
import os
import time


@dataclasses.dataclass(frozen=True)
class Task:
    """Sizes of a model and of its training.

    Args:
        batch: Sequences in a batch.
        steps: Time steps of a sequence.
        features: Width of the input.
        widths: Units of DuSpaR and of the GRU.
        layers: Number of recurrent layers.
        encoder: Whether a dense layer comes first.
        pool: Time steps that are averaged after each recurrent layer.
        outputs: Width of the output.
    """

    batch: int
    steps: int
    features: int
    widths: tuple
    layers: int
    encoder: bool
    pool: int
    outputs: int


TASKS = {
    "kws": Task(64, 62, 64, (128, 96), 2, False, 1, 35),
    "slu": Task(64, 160, 64, (128, 96), 2, False, 4, 32),
    "se": Task(32, 500, 32, (116, 96), 4, True, 1, 32),
}


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--backend", choices=["tensorflow", "jax", "torch"], default="jax"
    )
    parser.add_argument("--task", choices=sorted(TASKS), default="kws")
    parser.add_argument("--steps", type=int, help="time steps of a sequence")
    parser.add_argument("--rounds", type=int, default=15)
    return parser.parse_args()


def build(task, kind, **options):
    """A compiled model over recurrent layers of one kind."""
    import keras  # noqa: PLC0415

    import keras_duspar  # noqa: PLC0415

    units = task.widths[kind == "gru"]
    inputs = keras.Input((task.steps, task.features))
    x = keras.layers.Dense(units)(inputs) if task.encoder else inputs
    for _ in range(task.layers):
        layer = keras_duspar.layers.get(kind)
        x = layer(units, return_sequences=True, **options)(x)
        if task.pool > 1:
            x = keras.layers.AveragePooling1D(task.pool)(x)
    model = keras.Model(inputs, keras.layers.Dense(task.outputs)(x))
    model.compile(keras.optimizers.AdamW(1e-3), "mse")
    return model


def keras_step(model, x, y):
    return lambda: float(model.train_on_batch(x, y))


def torch_step(task, x, y):
    """A step of `torch.nn.GRU`, without Keras."""
    import torch  # noqa: PLC0415

    units = task.widths[1]
    encoder = torch.nn.Linear(task.features, units)
    first = units if task.encoder else task.features
    layers = [
        torch.nn.GRU(first if i == 0 else units, units, batch_first=True)
        for i in range(task.layers)
    ]
    head = torch.nn.Linear(units, task.outputs)
    parts = torch.nn.ModuleList([encoder, *layers, head])
    optimizer = torch.optim.AdamW(parts.parameters())
    x, y = torch.tensor(x), torch.tensor(y)

    def step():
        optimizer.zero_grad()
        h = encoder(x) if task.encoder else x
        for layer in layers:
            h, _ = layer(h)
            if task.pool > 1:
                h = torch.nn.functional.avg_pool1d(h.mT, task.pool).mT
        loss = torch.nn.functional.mse_loss(head(h), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def main():
    arguments = parse_arguments()
    os.environ["KERAS_BACKEND"] = arguments.backend
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import numpy as np  # noqa: PLC0415

    task = TASKS[arguments.task]
    if arguments.steps:
        task = dataclasses.replace(task, steps=arguments.steps)
    models = {
        "Keras": build(task, "duspar", implementation="keras"),
        "native": build(task, "duspar", implementation="native"),
        "keras GRU": build(task, "gru"),
    }
    rng = np.random.default_rng(0)
    shape = (task.batch, task.steps, task.features)
    x = rng.normal(size=shape).astype("float32")
    shape = (task.batch, *models["native"].output_shape[1:])
    y = rng.normal(size=shape).astype("float32")
    steps = {name: keras_step(model, x, y) for name, model in models.items()}
    if arguments.backend == "torch":
        steps["torch.nn.GRU"] = torch_step(task, x, y)
    times = {name: [] for name in steps}
    for round_ in range(arguments.rounds + 2):
        for name, step in steps.items():
            started = time.process_time(), time.perf_counter()
            step()
            taken = (
                time.process_time() - started[0],
                time.perf_counter() - started[1],
            )
            if round_ >= 2:  # the first ones compile
                times[name].append(taken)
    native = np.median([cpu for cpu, _ in times["native"]])
    print(f"{arguments.backend}, {arguments.task}, {task.steps} steps")
    for name, taken in times.items():
        cpu, clock = 1e3 * np.array(taken).T
        low, median, high = np.percentile(cpu, [25, 50, 75])
        print(
            f"{name:>12}  {median:8.1f} ms ({low:.1f}-{high:.1f})"
            f"  clock {np.median(clock):8.1f} ms"
            f"  {median / (1e3 * native):5.2f} x native"
        )


if __name__ == "__main__":
    main()
