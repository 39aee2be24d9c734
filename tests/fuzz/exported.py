"""Exports random models to C and feeds them hostile samples.

    python -m tests.fuzz.exported [--seconds 60] [--seed 0]

Every model is compiled with the sanitizers of addresses and of undefined
behavior and must pass its own test, which compares it with Keras, and
`pushes.c`. One that does not stays in `build/fuzz/exported`, and the exit
code is 1.
"""

import argparse
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import keras
import numpy as np

import keras_duspar
from keras_duspar import audio

KEPT = pathlib.Path(__file__).resolve().parents[2] / "build/fuzz/exported"
PUSHES = pathlib.Path(__file__).with_name("pushes.c")
# A float divided by zero is what IEEE 754 says, and not among these.
CHECKS = "address,undefined,float-cast-overflow"
FLAGS = (
    *("-std=c99", "-g", "-O1", "-DMODEL_COUNTS", f"-fsanitize={CHECKS}"),
    "-fno-sanitize-recover=all",
)
ROUNDS = 60
L = keras.layers


def _activation(rng):
    return rng.choice(["relu", "tanh", "sigmoid", "silu", "elu", "softplus"])


def _convolution(rng):
    kind = rng.choice([L.Conv1D, L.SeparableConv1D])
    padding = {"padding": "causal"} if kind is L.Conv1D else {}
    dilation = rng.choice([1, 1, 2, 3])
    return kind(
        *(rng.randrange(1, 9), rng.randrange(1, 5)),
        dilation_rate=dilation,
        strides=rng.choice([1, 1, 2, 3]) if dilation == 1 else 1,
        activation=_activation(rng),
        **padding,
    )


def _recurrent(rng, rounded):
    names = ["DuSpaR"] * 3 + ["SpaR"] * 2
    if not rounded:
        names += ["MinGRU", "LiGRU", "IRNN", "GRU", "LSTM"]
    name = rng.choice(names)
    kind = getattr(keras_duspar, name, None) or getattr(L, name)
    # Widths around the tiles of the machine.
    return kind(rng.choice([1, 3, 4, 5, 8, 13, 16, 31]), return_sequences=True)


# Layers that take and give time steps of features, beside recurrent ones.
MIDDLE = (
    *(_convolution, _convolution),
    lambda rng: L.Dense(rng.randrange(1, 20), _activation(rng)),
    lambda rng: L.DepthwiseConv1D(
        rng.randrange(1, 4), depth_multiplier=rng.randrange(1, 3)
    ),
    lambda rng: audio.TemporalPooling(rng.randrange(1, 4)),
    lambda rng: L.MaxPooling1D(rng.randrange(1, 4), rng.randrange(1, 4)),
    lambda rng: L.AveragePooling1D(rng.randrange(1, 4), rng.randrange(1, 4)),
    lambda rng: L.ZeroPadding1D((rng.randrange(4), 0)),
    lambda rng: rng.choice(
        [
            *(L.LayerNormalization, L.BatchNormalization, L.UnitNormalization),
            *(L.RMSNormalization, L.Softmax, L.ReLU, L.ELU, L.LeakyReLU),
        ]
    )(),
)


def random_model(rng, rounded=False):
    """A model of random layers, and its shape.

    Args:
        rng: A `random.Random`.
        rounded: Boolean, whether its weights can be rounded.
    """
    shape = rng.choice(["features", "words", "enhancer"])
    if shape == "features":
        x = inputs = keras.Input((None, rng.randrange(1, 24)))
    else:
        x = inputs = keras.Input((None,))
        length = 2 ** rng.randrange(5, 9)
        hop = length // rng.choice([1, 2, 4])
    if shape == "words":
        x = audio.LogMel(
            rng.randrange(1, 21), frame_length=length, hop_length=hop
        )(x)
    if shape == "enhancer":
        hop = length // 2
        x = frames = audio.Frames(length, hop, padding="full")(x)
        x = L.Dense(rng.randrange(1, 24), "relu")(x)
    for _ in range(rng.randrange(1, 5)):
        # All frames of an enhancer come back.
        if shape == "enhancer" or rng.randrange(3) == 0:
            x = _recurrent(rng, rounded)(x)
        else:
            x = rng.choice(MIDDLE)(rng)(x)
    if shape == "enhancer":
        x = L.Multiply()([frames, L.Dense(length, "sigmoid")(x)])
        x = audio.OverlapAdd(hop)(x, like=inputs)
    elif rng.randrange(2):
        x = L.Dense(rng.randrange(1, 6))(x)
        x = rng.choice([L.GlobalAveragePooling1D, L.GlobalMaxPooling1D])()(x)
        x = L.Softmax()(x)
    model = keras.Model(inputs, x)
    scale = rng.choice([0.1, 0.6, 2.0])
    values = np.random.default_rng(rng.randrange(1 << 30))
    for weight in model.trainable_weights:
        value = values.normal(0, scale, weight.shape)
        weight.assign(value / max(1, weight.shape[0]) ** 0.5)
    return model, shape


def export(rng, folder):
    """Writes a random model; returns what it is, or why it cannot be."""
    keras.utils.clear_session()
    options = {"weights": rng.choice(["float32", "bfloat16", "int8"])}
    try:
        model, shape = random_model(rng, options["weights"] != "float32")
    except ValueError as e:  # of Keras: layers that do not fit
        return None, str(e)
    if options["weights"] == "int8" and rng.randrange(2):
        noise = np.random.default_rng(1).normal(
            0, 0.1, (1, *((4096,) if shape != "features" else (64, 1)))
        )
        width = model.inputs[0].shape[-1] if shape == "features" else 1
        options["representative"] = [noise.repeat(width, -1).astype("float32")]
    if shape == "words" and rng.randrange(2):
        options["window"] = rng.choice([0.016, 0.3, 1.0])
        if rng.randrange(2):
            options["detector"] = {
                "thresholds": rng.choice([0.01, 0.3, 1.0]),
                "smoothing": rng.choice([0.0, 0.1]),
                "refractory": rng.choice([0.0, 0.5]),
            }
    names = [type(layer).__name__ for layer in model.layers]
    about = f"{' '.join(names)} {options.keys()} {options['weights']}"
    try:
        keras_duspar.export_c(
            model, folder, name="model", report=None, **options
        )
    except ValueError as e:
        return None, f"{about}: {e}"
    return about, None


def apart(text):
    """The source with its arrays as objects that the sanitizer sees."""
    start = text.index("static struct {\n")
    end = text.index("} model_static;")
    arrays, rest = [], []
    for line in text[start:end].splitlines()[1:]:
        found = re.fullmatch(r"  (\w+) (\w+)(\[.*\]);", line)
        if found:
            arrays.append(f"static {found[1]} model_{found[2]}_{found[3]};")
        elif line.startswith("#"):
            arrays.append(line)
            rest.append(line)
        else:
            rest.append(line)
    lines = [*arrays, "static struct {", *rest]
    text = text[:start] + "\n".join(lines) + "\n" + text[end:]
    names = "memory|entries|sums|counts|ring"
    return re.sub(rf"model_static\.({names})\b", r"model_\1_", text)


def sizes_of(header):
    return ",".join(re.findall(r"output \d+: .*, (\d+) floats", header))


def check(folder, seed, compiler="cc", rounds=ROUNDS):
    """What goes wrong when an exported model is compiled and run, or ""."""
    source = folder / "model.c"
    source.write_text(apart(source.read_text()))
    sizes = sizes_of((folder / "model.h").read_text())
    pushes = [f"-DSIZES={sizes}", f"-I{folder}", PUSHES]
    for program, sources, arguments in (
        ("pushes", pushes, (str(seed), str(rounds))),
        ("self_test", [folder / "model_test.c"], ()),
    ):
        made = folder / program
        commands = [compiler, *FLAGS, source, *sources, "-o", made, "-lm"]
        for command in (commands, [made, *arguments]):
            done = subprocess.run(
                list(map(str, command)), capture_output=True, timeout=300
            )
            if done.returncode:
                found = done.stdout[-500:] + done.stderr[:3000]
                return f"{program}: {found.decode(errors='replace')}"
    return ""


def run(seed=0, seconds=None, cases=None, report=print):
    """Checks models; returns how many, how many were refused, how many bad."""
    rng, done, refused, bad = random.Random(seed), 0, 0, 0
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")))
    end = time.monotonic() + (seconds or 1e9)
    while time.monotonic() < end and done != cases:
        case = rng.randrange(1 << 30)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            about, reason = export(random.Random(case), folder)
            if about is None:
                refused += 1
                report(f"{case} refused: {reason}")
                continue
            problem = check(folder, case, compiler)
            done += 1
            if problem:
                bad += 1
                kept = KEPT / str(case)
                shutil.copytree(folder, kept, dirs_exist_ok=True)
                report(f"{case}: {about}\n{problem}")
    return done, refused, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.monotonic()
    done, refused, bad = run(options.seed, options.seconds)
    took = time.monotonic() - began
    print(
        f"exported: {done} models in {took:.0f} s, {refused} refused, {bad} bad"
    )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
