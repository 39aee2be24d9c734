"""Prints words from a microphone as they are spoken; can enhance the sound.

The sound comes from the microphone, from the standard input ("-": 16-bit
samples at --rate) or from a file, which is heard in real time unless --fast is
given. On a terminal, the sound level, the occupancy and the processor's load
are shown below the words.
"""

import json
import pathlib
import sys
import time

import numpy as np

from keras_duspar.cli import trained
from keras_duspar.cli.argument_types import add_threshold
from keras_duspar.cli.argument_types import positive
from keras_duspar.cli.main import CommandError
from keras_duspar.cli.main import explaining
from keras_duspar.cli.recordings import check_output
from keras_duspar.cli.sound import Meter
from keras_duspar.cli.sound import blocks_of
from keras_duspar.cli.sound import display
from keras_duspar.cli.sound import player
from keras_duspar.utils.audio_files import SAMPLE_RATE

# Seconds behind the end of a recording, which may be that of its last word.
SILENCE = 0.5


def add_arguments(parser):
    """Adds the arguments of the command."""
    parser.add_argument(
        "source",
        nargs="?",
        default="microphone",
        metavar="SOURCE",
        help="microphone, - or a file (default: %(default)s)",
    )
    parser.add_argument(
        "--model",
        metavar="MODEL",
        help="a preset, or a streaming .tflite file that was converted with "
        f"--window (default: the preset {trained.DEFAULTS['kws']}, or none "
        "with --enhance)",
    )
    parser.add_argument(
        "--enhance",
        metavar="MODEL",
        help="a preset or a streaming .tflite file that enhances speech, such "
        f"as {trained.DEFAULTS['se']}; the enhanced sound is played, or "
        "written to --output",
    )
    parser.add_argument(
        "--output", metavar="FILE", help="write the enhanced sound to this file"
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace --output if it exists, but never the recording itself",
    )
    add_threshold(parser)
    parser.add_argument(
        "--rate",
        type=positive(int),
        default=SAMPLE_RATE,
        metavar="HZ",
        help="sample rate of the microphone or of - (default: %(default)s)",
    )
    parser.add_argument("--device", help="name or number of the microphone")
    parser.add_argument(
        "--fast",
        action="store_true",
        help="read a file as fast as possible, not in real time",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object per event"
    )


def run(arguments):
    """Runs the command."""
    if arguments.output is not None and arguments.enhance is None:
        raise CommandError("`--output` needs `--enhance`.")
    if arguments.output is not None:
        output = pathlib.Path(arguments.output)
        check_output(arguments.source, output, arguments.overwrite)
    detector, enhancer = load(arguments)
    runners = [detector.source] if detector else []
    meter = Meter([*runners, *([enhancer] if enhancer else [])])
    blocks = blocks_of(
        arguments.source, arguments.rate, not arguments.fast, _device(arguments)
    )
    if enhancer is None:
        listen(blocks, detector, None, meter, None, arguments.json)
        return
    with player(arguments.output, enhancer.sample_rate) as play:
        listen(blocks, detector, enhancer, meter, play, arguments.json)


def _device(arguments):
    device = arguments.device
    return int(device) if device is not None and device.isdigit() else device


def load(arguments):
    """The detector and the runner of the enhancer, `None` if not wanted."""
    from keras_duspar.streaming import Detector  # noqa: PLC0415

    detector = enhancer = None
    model = arguments.model
    if model is None and arguments.enhance is None:
        model = trained.DEFAULTS["kws"]
    if model is not None:
        runner = trained.load_stream(model, "kws")
        with explaining():
            detector = Detector(runner, thresholds=arguments.threshold)
    if arguments.enhance is not None:
        enhancer = trained.load_stream(arguments.enhance, "se", "--enhance")
    return detector, enhancer


def listen(blocks, detector, enhancer, meter, play, as_json):
    """Runs the models on the blocks, and the detector on silence after them."""
    late, heard = enhancer.delay if enhancer else 0, 0
    with display(meter) as show:
        for samples, rate in blocks:
            began, events, sound = time.perf_counter(), [], []
            with explaining():
                if detector is not None:
                    events = detector.push(samples, rate)
                if enhancer is not None:
                    sound = enhancer.push(samples, rate)
            meter.add(samples, rate, time.perf_counter() - began)
            heard += len(events)
            for event in events:
                show(describe(event, meter, as_json))
            if sound:
                sound = np.concatenate(sound)
                play(sound[late:])
                late = max(0, late - len(sound))
            show(None)
        if detector is not None and meter.seconds:
            events = detector.push(np.zeros(int(SILENCE * rate), "int16"), rate)
            heard += len(events)
            for event in events:
                show(describe(event, meter, as_json))
    if detector is not None and not heard:
        note = f"no word was heard in {meter.seconds:.1f} s"
        print(f"keras-duspar listen: {note}.", file=sys.stderr)


def describe(event, meter, as_json):
    """An event as a line."""
    occupancy = meter.occupancy()
    if as_json:
        found = {
            "word": event.word,
            "start": round(event.start, 3),
            "end": round(event.end, 3),
            "confidence": round(event.confidence, 6),
            "level": round(meter.level, 1),
            "occupancy": None if occupancy is None else round(occupancy, 4),
            "processor": round(meter.share, 5),
        }
        return json.dumps(found)
    return (
        f"{event.start:8.2f} s - {event.end:8.2f} s  {event.word}  "
        f"{event.confidence:.3f}"
    )
