"""How long all trainings of the paper take: step times, and the arithmetic.

    python studies/paper_hours.py
    python studies/paper_hours.py --backends jax --repeats 5

Times the training step of DuSpaR and of the GRU of equal size at the paper's
batch sizes on noise, in seconds of one core (`time.process_time()`, so that
what else runs on the machine counts little), and multiplies: trials of the
grid, epochs, steps in an epoch of the public data. Validation, tests and the
making of batches are not in it.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

RECIPES = pathlib.Path(__file__).resolve().parent.parent / "recipes"
# Training utterances of the public data, and samples of one as it is trained
# on: intents are padded to a multiple of 32768.
TASKS = {
    "kws": {"utterances": 84843, "samples": 16000, "classes": 35},
    "slu": {"utterances": 23132, "samples": 65536, "classes": 31},
    "se": {"utterances": 11572, "samples": 32000},
}
MODELS = {"kws": (128, 96), "slu": (128, 96), "se": (116, 96)}
# A step of enhancement takes long: so many times shorter, then multiplied.
SHORTER = {"se": 8}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--backends", nargs="+", default=["tensorflow", "jax", "torch"]
    )
    parser.add_argument(
        "--repeats", type=int, default=3, help="steps; the fastest counts"
    )
    parser.add_argument("--json", help="file to write the times to, too")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.repeats)))
        return
    found = {}
    for backend in options.backends:
        for task in TASKS:
            found.setdefault(backend, {})[task] = in_process(
                backend, task, options.repeats
            )
            print(backend, task, found[backend][task], flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1))
    print(table(found))


def in_process(backend, task, repeats):
    """Step times, measured by a process with one thread on a backend."""
    threads = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
    done = subprocess.run(
        [sys.executable, __file__, "--measure", task]
        + ["--repeats", str(repeats)],
        env={
            **os.environ,
            **dict.fromkeys((*threads, "TF_NUM_INTEROP_THREADS"), "1"),
            "KERAS_BACKEND": backend,
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "PYTHONPATH": str(RECIPES),
        },
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def measure(task, repeats):
    """Core seconds of a training step, of DuSpaR and of the GRU."""
    sys.path.insert(0, str(RECIPES))
    import importlib  # noqa: PLC0415  (the backend is chosen by now)

    import numpy as np  # noqa: PLC0415

    from trainer import optimizers  # noqa: PLC0415
    from trainer.task import mask_features  # noqa: PLC0415

    recipe = importlib.import_module(task)
    facts, times = TASKS[task], {}
    for name, units in zip(("duspar", "gru"), MODELS[task]):
        config = recipe.Config(
            **{**recipe.Config.presets["paper"], "model": name, "units": units}
        )
        samples = facts["samples"] // SHORTER.get(task, 1)
        rng = np.random.default_rng(0)
        shape = (config.batch_size, samples)
        audio = rng.normal(0, 0.1, shape).astype("float32")
        arguments = {"recurrent": name, "units": units}
        if task == "se":
            model = recipe.models.speech_enhancer(**arguments)
            target = audio
            loss = recipe.losses.Enhancement(1.0, 0, 0, 0)
        elif task == "slu":
            model = recipe.models.intent_recognizer(**arguments)
            frames = model.compute_output_shape((1, samples))[1]
            labels = [[i % facts["classes"]] for i in range(len(audio))]
            target = recipe.losses.pack_ctc_targets(
                labels, [frames] * len(audio)
            )
            loss = recipe.CTCAndCrossEntropy(1.0)
        else:
            model = recipe.models.keyword_spotter(**arguments)
            target = np.arange(len(audio)) % facts["classes"]
            loss = recipe.KeywordSpotting.loss(None, 0)
        trained = model if task == "se" else mask_features(model, 0)
        optimizer = optimizers.adam(config, config.learning_rate, 1000)
        trained.compile(optimizer, loss)
        seconds = []
        for _ in range(repeats + 1):  # the first one compiles
            start = time.process_time()
            float(trained.train_on_batch(audio, target))
            seconds.append(time.process_time() - start)
        times[name] = min(seconds[1:]) * SHORTER.get(task, 1)
    return times


def table(found):
    """The arithmetic, as a Markdown table."""
    sys.path.insert(0, str(RECIPES))
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import importlib  # noqa: PLC0415

    from sweeping import grid  # noqa: PLC0415

    rows = [
        "| backend | task | DuSpaR s/step | GRU s/step | trials | epochs "
        "| steps/epoch | core hours |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for backend, tasks in found.items():
        total = 0
        for task, times in tasks.items():
            config_class = importlib.import_module(task).Config
            trials = grid.trials(config_class, grid.find(task, "paper"))
            config = trials[0].config
            steps = TASKS[task]["utterances"] // config.batch_size
            mean = sum(times.values()) / len(times)
            hours = len(trials) * config.epochs * steps * mean / 3600
            total += hours
            rows.append(
                f"| {backend} | {task} | {times['duspar']:.3f} "
                f"| {times['gru']:.3f} | {len(trials)} | {config.epochs} "
                f"| {steps:,} | {hours:,.0f} |"
            )
        rows.append(f"| {backend} | all | | | | | | {total:,.0f} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
