"""The command lines of conversion and measurement."""

import argparse
import json
import os
import pathlib
import sys
import wave

import numpy as np

CONVERT = """\
Converts a Keras model to TFLite.

The model is a .keras file, as model.save("model.keras") writes it. The result
contains everything from raw audio to the output. With --streaming it takes a
few new samples at a time and hands its states from call to call, for an app
that listens; without, it takes whole recordings of any length.

Files with sparse operators, the default, need the delegate of this package
(keras_duspar.tflite.load() finds it; see docs/deploy.md for apps). Files with
--ops builtin run in any TFLite runtime, more slowly.
"""

BENCHMARK = """\
Measures how fast a .tflite file runs on this machine.

Times are those of one frame, from setting the input to the output. Several
files take turns. `inspect FILE` in the place of a file tells what is in it.
"""


def add_convert_arguments(parser):
    """Declares the arguments of the conversion."""
    parser.add_argument("model", help="the .keras file to convert")
    parser.add_argument("path", help="the .tflite file to write")
    parser.add_argument(
        "--streaming",
        action="store_true",
        help="take chunks of a stream instead of whole recordings",
    )
    parser.add_argument(
        "--frames",
        type=int,
        default=1,
        metavar="N",
        help="frames that a chunk of a stream completes (default: 1)",
    )
    parser.add_argument(
        "--ops",
        default="sparse",
        choices=("sparse", "builtin"),
        help="sparse: one operator a layer, which skips zeros and needs the "
        "delegate; builtin: runs everywhere (default: sparse)",
    )
    parser.add_argument(
        "--weights",
        default="float32",
        choices=("float32", "bfloat16", "int8"),
        help="how sparse operators store their kernels (default: float32)",
    )
    parser.add_argument(
        "--labels",
        metavar="FILE",
        help="a text file with the name of one class a line, kept in the "
        ".tflite file",
    )
    parser.add_argument("--task", help="what the model does, kept in the file")
    parser.add_argument(
        "--output-names",
        nargs="+",
        metavar="NAME",
        help="names of the outputs (default: the model's own)",
    )
    parser.add_argument(
        "--count",
        action="store_true",
        help="with --ops builtin: add an output that counts zeros, to compare "
        "the occupancy",
    )


def run_convert(args):
    """Converts as the arguments say, and shows what came out."""
    from keras_duspar.tflite import converter  # noqa: PLC0415
    from keras_duspar.tflite import inspection  # noqa: PLC0415

    options = {k: v for k, v in vars(args).items() if k in _OPTIONS}
    if args.labels:
        text = pathlib.Path(args.labels).read_text()
        options["labels"] = [line for line in text.splitlines() if line]
    path = converter.convert(args.model, args.path, **options)
    print(inspection.inspect(path))


_OPTIONS = (
    "streaming",
    "frames",
    "ops",
    "weights",
    "labels",
    "task",
    "output_names",
    "count",
)


def add_benchmark_arguments(parser):
    """Declares the arguments of the measurement."""
    parser.add_argument(
        "path", nargs="+", help="the .tflite file, or: inspect FILE"
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
        help="a recording to run on: occupancy depends on it (default: noise)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=5.0,
        help="how long to measure each file (default: 5)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        help="threads of built-in operators (default: 1)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print the figures as JSON"
    )


def run_benchmark(args):
    """Measures, or inspects, as the arguments say."""
    from keras_duspar.tflite import inspection  # noqa: PLC0415
    from keras_duspar.tflite import measuring  # noqa: PLC0415

    if args.path[0] == "inspect" and len(args.path) > 1:
        for path in args.path[1:]:
            print(inspection.inspect(path))
        return
    audio = None if args.audio is None else read_audio(args.audio)
    found = measuring.measure(
        [*args.path, *args.against],
        None if audio is None else audio[0],
        args.seconds,
        args.threads,
    )
    rate = found[0].runner.sample_rate
    if audio is not None and rate and audio[1] != rate:
        raise ValueError(
            f"`--audio` must have {rate} samples a second. Received: "
            f"{args.audio!r} with {audio[1]}."
        )
    if args.json:
        print(json.dumps([m.to_dict() for m in found], indent=1))
    else:
        print(measuring.measurement_table(found))


def read_audio(path):
    """Samples of the first channel, in [-1, 1], and the rate of a file."""
    try:
        import soundfile  # noqa: PLC0415
    except ImportError:
        with wave.open(str(path)) as file:
            if file.getsampwidth() != 2:
                raise ValueError(
                    "`--audio` must be a 16-bit .wav file, unless soundfile "
                    f"is installed. Received: {path!r}."
                ) from None
            data = np.frombuffer(file.readframes(file.getnframes()), "<i2")
            samples = data.reshape(-1, file.getnchannels())[:, 0] / 32768
            return samples.astype("float32"), file.getframerate()
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    return samples[:, 0], rate


def main(command, argv=None):
    """Runs a command line.

    Args:
        command: String, `"convert"` or `"benchmark"`.
        argv: List of strings, or `None` for those of the process.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    text, add, run = {
        "convert": (CONVERT, add_convert_arguments, run_convert),
        "benchmark": (BENCHMARK, add_benchmark_arguments, run_benchmark),
    }[command]
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add(parser)
    args = parser.parse_args(argv)
    try:
        run(args)
    except (ValueError, OSError, ImportError) as e:
        sys.exit(f"error: {e}")
