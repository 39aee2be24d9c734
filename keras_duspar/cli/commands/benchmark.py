"""Measures how fast .tflite files run on this machine.

The times are those of one frame in the interpreter, with what Python adds to
each beside them. Several files take turns, and the last column compares each
with the first. --table measures instead how the time of the recurrent layers
depends on occupancy, and writes a table that budgets can use on any machine.
"""

import json

from keras_duspar.cli import trained
from keras_duspar.cli.argument_types import positive
from keras_duspar.cli.chatter import without_chatter
from keras_duspar.cli.commands import inspect
from keras_duspar.cli.main import CommandError
from keras_duspar.cli.main import explaining
from keras_duspar.utils.audio_files import read_mono


def add_arguments(parser):
    """Adds the arguments of the command."""
    parser.add_argument(
        "path",
        nargs="+",
        metavar="FILE",
        help=".tflite files, or names of presets, which stand for their "
        "streaming files",
    )
    parser.add_argument(
        "--against",
        action="append",
        default=[],
        metavar="FILE",
        help="another file to compare with; may be given several times",
    )
    parser.add_argument(
        "--audio",
        metavar="FILE",
        help="a recording to run on, as occupancy depends on the input "
        "(default: noise)",
    )
    parser.add_argument(
        "--seconds",
        type=positive(float),
        default=5.0,
        help="how long to measure each file (default: 5)",
    )
    parser.add_argument(
        "--threads",
        type=positive(int),
        default=1,
        help="how many threads built-in operators use (default: 1)",
    )
    parser.add_argument(
        "--table",
        metavar="FILE",
        help="measure times at several occupancies and write them to this file",
    )
    parser.add_argument(
        "--json", action="store_true", help="print the figures as JSON"
    )


def run(arguments):
    """Runs the command."""
    from keras_duspar import tflite  # noqa: PLC0415
    from keras_duspar.tflite import measuring  # noqa: PLC0415

    with explaining():
        if arguments.path[0] == "inspect" and len(arguments.path) > 1:
            # As of version 0.1, before there was a command of this name.
            arguments.path = arguments.path[1:]
            return inspect.run(arguments)
        if arguments.table:
            path = trained.find_file(arguments.path[0])
            return _write_table(path, arguments.table)
        names = [*arguments.path, *arguments.against]
        paths = [trained.find_file(name) for name in names]
        audio = None
        if arguments.audio is not None:
            audio = _read(arguments.audio, tflite.inspect(paths[0]))
        with without_chatter():
            found = tflite.measure(
                paths, audio, arguments.seconds, arguments.threads
            )
    for measurement, name in zip(found, names):
        measurement.path = name
    if arguments.json:
        print(json.dumps([m.to_dict() for m in found], indent=1))
    else:
        print(measuring.measurement_table(found))


def _write_table(path, out):
    """Measures the recurrent layers of a file at several occupancies."""
    from keras_duspar import tflite  # noqa: PLC0415
    from keras_duspar.budgets import frame_times  # noqa: PLC0415
    from keras_duspar.tflite import description  # noqa: PLC0415

    described = tflite.inspect(path).description or {"layers": []}
    layers = [
        description.layer_profile(
            x, x["steps_per_second"], {o["name"]: 0 for o in x["operands"]}
        )
        for x in described["layers"]
        if x["recurrent"]
    ]
    rate = max((layer.steps_per_second for layer in layers), default=1.0)
    shapes = frame_times.stack(layers, rate)
    weights = described.get("weights", "float32")
    known = weights in ("float32", "bfloat16")
    table = frame_times.measure(shapes, weights if known else "int8")
    frame_times.write(out, shapes, table)
    for occupancy, microseconds in table:
        print(f"{100 * occupancy:5.0f} %  {microseconds:8.2f} us per frame")


def _read(path, inspection):
    """The samples of a recording at the rate of a file, channels averaged."""
    rate = (inspection.description or {}).get("sample_rate")
    if not rate:
        raise CommandError(
            f"--audio needs a file that takes audio: {inspection.path} does "
            "not tell its sample rate."
        )
    return read_mono(path, rate)
