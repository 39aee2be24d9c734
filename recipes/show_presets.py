"""Shows what the presets hear in words and in a noisy sentence.

    python recipes/show_presets.py --out build/demo

A synthesizer speaks, the recordings are written, and `keras-duspar spot`,
`understand` and `enhance` run on them without a `--model`.
"""

import argparse
import pathlib
import shlex
import sys

import numpy as np
import soundfile

from datasets import acoustics
from datasets.espeak import Espeak
from datasets.mixing import mix
from datasets.samples import resample
from datasets.synthesis import trim
from keras_duspar import cli
from keras_duspar import models
from keras_duspar.cli.trained import DEFAULTS
from keras_duspar.utils.audio_files import SAMPLE_RATE

WORDS = ("yes", "no", "stop", "left", "house")
COMMAND = ("up", "house")
SENTENCE = "The boat left the harbor early, before the wind grew stronger."
SNR_DB = 5.0
PAUSE = SAMPLE_RATE // 5


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--out", default="build/demo", help="folder of the recordings"
    )
    out = pathlib.Path(parser.parse_args(arguments).out)
    out.mkdir(parents=True, exist_ok=True)
    commands = record(out)
    for task, command in commands.items():
        if DEFAULTS[task] not in models.presets():
            continue
        print(f"$ keras-duspar {shlex.join(command)}", flush=True)
        code = cli.main(command)
        if code:
            return code
    return 0


def record(out):
    """Writes recordings; returns the command for each task."""
    speaker = Espeak()

    def say(text):
        audio = speaker.say(text, "en-us", rate=140)
        return 0.5 * trim(resample(audio, speaker.sample_rate))

    def write(name, audio):
        path = str(out / f"{name}.wav")
        soundfile.write(path, audio, SAMPLE_RATE)
        return path

    pause = np.zeros(PAUSE, "float32")
    words = [
        write(word, np.concatenate([pause, say(word), pause])) for word in WORDS
    ]
    command = [part for word in COMMAND for part in (pause, say(word))]
    command.append(pause)
    rng = np.random.default_rng(0)
    sentence = np.concatenate([pause, say(SENTENCE), pause])
    noise = acoustics.noise(rng, "pink", len(sentence))
    noisy = write("noisy", mix(sentence, noise, SNR_DB)[0])
    return {
        "kws": ["spot", *words],
        "slu": ["understand", write("command", np.concatenate(command))],
        "se": ["enhance", noisy, str(out / "enhanced.wav"), "--overwrite"],
    }


if __name__ == "__main__":
    sys.exit(main())
