"""Feeds files that are wrong in any way to everything in Python that reads.

    python -m tests.fuzz.hostile [--seconds 60] [--seed 0] [TARGET ...]

Each target changes a good file and reads it. What comes must be a result or
one of our errors, with a message. The first that is anything else is kept in
`build/fuzz/python`, and the exit code is 1; a file that is read for longer
than `PATIENCE` seconds, or takes more than `MEMORY`, ends the same way.
"""

import argparse
import faulthandler
import io
import json
import pathlib
import random
import resource
import sys
import tempfile
import time
import traceback
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KEPT = ROOT / "build" / "fuzz" / "python"
PATIENCE = 60  # seconds
MEMORY = 6 << 30  # bytes that may be added
ODD = ("", "0", "-1", "1e999", "nan", "null", "[]", "{}", '"', "\0", "true")
VALUES = (None, True, -1, 0, 2**63, 1e300, float("nan"), "", "x", [], [[]], {})


def mutate(rng, data):
    """Bytes with some of them changed, doubled, moved or cut off."""
    data = bytearray(data)
    for _ in range(1 + rng.randrange(4)):
        place = rng.randrange(len(data) + 1)
        if rng.randrange(2):  # heads and tails of files say most
            place = min(place % 64, len(data))
        kind = rng.randrange(5)
        if kind == 0:
            data[place : place + 1] = rng.randbytes(1)
        elif kind == 1:
            data[place : place + 4] = rng.choice(
                (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f")
            )
        elif kind == 2:
            data[place:place] = rng.choice(ODD).encode()
        elif kind == 3:
            del data[place : place + 1 + rng.randrange(16)]
        elif rng.randrange(4) == 0:
            del data[place:]
    return bytes(data)


def mutate_tree(rng, value):
    """A copy of a JSON value in which one thing is another."""
    value = json.loads(json.dumps(value))
    here = value
    while True:
        keys = list(here) if isinstance(here, dict) else range(len(here))
        if not keys:
            return value
        key = rng.choice(list(keys))
        if isinstance(here[key], (dict, list)) and rng.randrange(5):
            here = here[key]
            continue
        if rng.randrange(4) == 0:
            del here[key]
        else:
            here[key] = rng.choice(VALUES)
        return value


class Target:
    """A good input, how it is changed, and who reads it."""

    suffix = ""
    errors = {"ValueError", "OSError", "CommandError", "TrainingError"}

    def change(self, rng):
        return mutate(rng, self.good)


class TFLite(Target):
    """`tflite.inspect()`: LiteRT itself trusts files."""

    suffix = ".tflite"

    def __init__(self):
        from keras_duspar import tflite
        from keras_duspar.models import preset_files
        from keras_duspar.tflite import description

        self._inspect = tflite.inspect
        name = next(iter(preset_files.presets()))
        folder = preset_files.preset_folder(name)
        self.good = (folder / preset_files.STREAMING).read_bytes()
        self._start = self.good.find(b'{"format":')
        self._end = self.good.find(b"\0", self._start)
        self._about = self.good[self._start : self._end]
        assert description.FORMAT and json.loads(self._about)

    def change(self, rng):
        if rng.randrange(2):
            return super().change(rng)
        # The description, in as many bytes as there were.
        size = len(self._about)
        if rng.randrange(2):
            about = mutate(rng, self._about)
        else:
            about = json.dumps(mutate_tree(rng, json.loads(self._about)))
            about = about.replace(", ", ",").replace(": ", ":").encode()
        about = about[:size].ljust(size)
        return self.good[: self._start] + about + self.good[self._end :]

    def read(self, path):
        str(self._inspect(path))


class KerasFile(Target):
    """A `.keras` file, by the commands and by the converter."""

    suffix = ".keras"

    def __init__(self):
        import keras

        from keras_duspar import layers
        from keras_duspar.cli import trained
        from keras_duspar.tflite import converter

        self._trained, self._converter = trained, converter
        model = keras.Sequential(
            [keras.Input((None, 3)), layers.DuSpaR(2), keras.layers.Dense(2)]
        )
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "model.keras")
            model.save(path)
            self.good = path.read_bytes()

    def change(self, rng):
        if rng.randrange(3) == 0:
            return super().change(rng)
        changed = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(self.good)) as source,
            zipfile.ZipFile(changed, "w") as target,
        ):
            chosen = rng.choice(source.namelist())
            for name in source.namelist():
                data = source.read(name)
                if name == chosen and name.endswith("json"):
                    tree = mutate_tree(rng, json.loads(data))
                    data = json.dumps(tree).encode()
                elif name == chosen:
                    data = mutate(rng, data)
                target.writestr(name, data)
        return changed.getvalue()

    def read(self, path):
        file, _ = self._trained.find_run(path)
        self._converter.load_model(self._converter.check_model(file))


class Wav(Target):
    """A recording."""

    suffix = ".wav"

    def __init__(self):
        import numpy as np
        import soundfile

        from keras_duspar.utils import audio_files

        self._read = audio_files.read_mono
        file = io.BytesIO()
        noise = np.random.default_rng(1).normal(0, 0.1, (2000, 2))
        soundfile.write(file, noise, 8000, format="WAV")
        self.good = file.getvalue()

    def read(self, path):
        self._read(path, 16000)


class Recipe(Target):
    """Something that `recipes` has."""

    def __init__(self):
        if str(ROOT / "recipes") not in sys.path:
            sys.path.insert(0, str(ROOT / "recipes"))


class Mixtures(Recipe):
    """The list of an enhancer's mixtures."""

    suffix = ".csv"
    good = (
        b"id,clean,noise,noise_offset_samples,snr_db\n"
        b"a,hostile.csv,hostile.csv,3,2.5\nb,hostile.csv,hostile.csv,9,-5\n"
    )

    def __init__(self):
        super().__init__()
        from datasets import mixing

        self.read = mixing.read_mixtures


class Intents(Recipe):
    """The list of Fluent Speech Commands."""

    suffix = ".csv"
    good = (
        b",path,speakerId,transcription,action,object,location\n"
        b"0,a.wav,s1,Turn on,activate,lights,none\n"
        b"1,b.wav,s2,Turn off,deactivate,lights,kitchen\n"
    )

    def __init__(self):
        super().__init__()
        from datasets import fluent_commands

        self.read = fluent_commands._read


class Config(Recipe):
    """The settings of a run."""

    suffix = ".json"

    def __init__(self):
        super().__init__()
        import dataclasses

        import kws
        from trainer import config

        self._make, self._class = config.make, kws.Config
        self._tree = dataclasses.asdict(config.make(kws.Config, {}))
        self.good = json.dumps(self._tree).encode()

    def change(self, rng):
        if rng.randrange(2):
            return super().change(rng)
        return json.dumps(mutate_tree(rng, self._tree)).encode()

    def read(self, path):
        self._make(self._class, {}, path)


class LayerConfig(Target):
    """The configuration of a layer, as Keras gives it to `from_config()`."""

    suffix = ".json"
    # Python's own, of arguments that are missing or unknown, as in Keras.
    errors = Target.errors | {"TypeError"}

    def __init__(self):
        from keras_duspar import layers

        self._classes = {n: layers.get(n) for n in ("duspar", "spar", "egru")}
        self._good = {n: c(3).get_config() for n, c in self._classes.items()}

    def change(self, rng):
        name = rng.choice(list(self._good))
        config = mutate_tree(rng, self._good[name])
        return json.dumps([name, config]).encode()

    def read(self, path):
        name, config = json.loads(path.read_text())
        self._classes[name].from_config(config)


TARGETS = {
    "tflite": TFLite,
    "keras": KerasFile,
    "wav": Wav,
    "mixtures": Mixtures,
    "intents": Intents,
    "config": Config,
    "layers": LayerConfig,
}


def ours(error, known):
    """Whether an error is one that callers are told of."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & known) and bool(str(error))


def run(name, seconds=None, cases=None, seed=0, folder=None):
    """Reads changed files; returns how many, and the error of a bad one."""
    target, rng = TARGETS[name](), random.Random(seed)
    path = pathlib.Path(folder, f"hostile{target.suffix}")
    end, done = time.monotonic() + (seconds or 1e9), 0
    while time.monotonic() < end and done != cases:
        path.write_bytes(target.change(rng))
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        try:
            target.read(path)
        except Exception as e:
            if not ours(e, target.errors):
                return done, e
        finally:
            faulthandler.cancel_dump_traceback_later()
        done += 1
    return done, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    bad = 0
    for name in options.targets or TARGETS:
        with tempfile.TemporaryDirectory() as folder:
            TARGETS[name]()  # imports what takes much memory of its own
            used = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
            limit = used * resource.getpagesize() + MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (limit, -1))
            began = time.monotonic()
            done, error = run(name, options.seconds, None, options.seed, folder)
            took = time.monotonic() - began
            print(f"{name}: {done} files in {took:.0f} s", flush=True)
            if error is not None:
                bad += 1
                (found,) = pathlib.Path(folder).iterdir()
                kept = KEPT / f"{name}{found.suffix}"
                kept.write_bytes(found.read_bytes())
                traceback.print_exception(error, limit=-4)
                print(f"{name}: {kept}", flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
