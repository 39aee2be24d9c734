"""Counts the false alarms per hour and the misses of a keyword spotter.

The recordings of --speech, which must not contain the words, are joined into a
long stream, and those of --keywords, in folders named after their words, are
inserted between them. MODEL is a preset, or a streaming file that was
converted with --window. --store chooses thresholds for a rate of false alarms
and keeps them in the file; choose them on other recordings than those you
report results for.
"""

import json
import pathlib

import numpy as np

from keras_duspar.cli import trained
from keras_duspar.cli.argument_types import positive
from keras_duspar.cli.main import CommandError
from keras_duspar.cli.main import explaining
from keras_duspar.cli.recordings import progress
from keras_duspar.models import preset_files
from keras_duspar.utils.audio_files import read_mono

SUFFIXES = (".wav", ".flac", ".ogg", ".mp3")


def add_arguments(parser):
    """Adds the arguments of the command."""
    parser.add_argument(
        "model", metavar="MODEL", help="a preset or a .tflite file"
    )
    parser.add_argument(
        "--speech",
        required=True,
        nargs="+",
        metavar="FOLDER",
        help="recordings of speech and noise without the words",
    )
    parser.add_argument(
        "--keywords",
        required=True,
        metavar="FOLDER",
        help="recordings of the words, each in the folder of its word",
    )
    parser.add_argument(
        "--list",
        metavar="FILE",
        help="file with the recordings in --keywords to use, one per line "
        "(default: all)",
    )
    parser.add_argument(
        "--hours",
        type=positive(float),
        default=float("inf"),
        metavar="H",
        help="use at most so many hours of --speech (default: all)",
    )
    parser.add_argument(
        "--rate",
        type=positive(float),
        default=0.5,
        metavar="R",
        help="with --store: the false alarms per hour and word to aim at "
        "(default: 0.5)",
    )
    parser.add_argument(
        "--store",
        action="store_true",
        help="choose thresholds for --rate and keep them in the file",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the order of the recordings (default: 0)",
    )
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="plot misses against false alarms per hour to this file",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object instead of a table",
    )


def run(arguments):
    """Runs the command."""
    from keras_duspar import tflite  # noqa: PLC0415
    from keras_duspar.streaming import Detector  # noqa: PLC0415
    from keras_duspar.streaming.evaluation import Evaluation  # noqa: PLC0415

    if arguments.store and preset_files.names_preset(arguments.model):
        raise CommandError(
            "`--store` needs a .tflite file to write to. Received: the preset "
            f"{arguments.model}."
        )
    runner = trained.load_stream(arguments.model, "kws", "MODEL")
    with explaining():
        detector = Detector(runner)
    words = [
        label
        for label, threshold in zip(
            detector.labels, detector.settings["thresholds"]
        )
        if threshold is not None
    ]
    rng = np.random.default_rng(arguments.seed)
    speech = find_speech(arguments.speech, rng)
    keywords = find_keywords(arguments.keywords, arguments.list, words, rng)
    scores, spoken = listen(runner, speech, keywords, arguments.hours)
    found = Evaluation(
        detector.labels, detector.settings, detector.seconds, scores, spoken
    )
    thresholds = dict(zip(detector.labels, detector.settings["thresholds"]))
    if arguments.store:
        thresholds |= found.choose(arguments.rate)
        tflite.store_detector(arguments.model, thresholds)
    counts = found.count(thresholds)
    if arguments.plot:
        found.plot(arguments.plot, arguments.rate)
    report(found, thresholds, counts, arguments.json)


def find_speech(folders, rng):
    """The recordings of the folders, in an order by chance."""
    files = []
    for folder in map(pathlib.Path, folders):
        if not folder.is_dir():
            raise CommandError(f"{folder} is not a folder.")
        files += sorted(p for p in folder.rglob("*") if p.suffix in SUFFIXES)
    if not files:
        raise CommandError(f"{', '.join(folders)}: no recordings there.")
    return [files[i] for i in rng.permutation(len(files))]


def find_keywords(folder, listed, words, rng):
    """Pairs of word and recording, in an order by chance."""
    folder = pathlib.Path(folder)
    wanted = None
    if listed is not None:
        try:
            wanted = set(pathlib.Path(listed).read_text("utf-8").split())
        except (OSError, UnicodeDecodeError) as e:
            raise CommandError(f"{listed} cannot be read: {e}") from e
    found = [
        (word, path)
        for word in words
        for path in sorted((folder / word).glob("*"))
        if path.suffix in SUFFIXES
        and (wanted is None or path.relative_to(folder).as_posix() in wanted)
    ]
    missing = set(words) - {word for word, _ in found}
    if missing:
        raise CommandError(
            f"{folder} has no recordings of: {', '.join(sorted(missing))}."
        )
    return [found[i] for i in rng.permutation(len(found))]


def listen(runner, speech, keywords, hours):
    """Runs the file on the stream; returns scores and what is spoken."""
    from keras_duspar.streaming.evaluation import Spoken  # noqa: PLC0415

    rate = runner.sample_rate
    scores, spoken, position, left = [], [], 0, hours * 3600 * rate

    def push(path):
        nonlocal position
        samples = read_mono(path, rate)
        scores.extend(runner.push(samples))
        position += len(samples)
        return len(samples)

    with progress("listening", len(speech) + len(keywords)) as advance:
        for i, path in enumerate(speech):
            left -= push(path)
            advance(1)
            first, last = (n * len(keywords) // len(speech) for n in (i, i + 1))
            for word, keyword in keywords[first:last]:
                start = position / rate
                push(keyword)
                advance(1)
                spoken.append(Spoken(word, start, position / rate))
            if left <= 0:
                break
    return np.array(scores), spoken


def report(found, thresholds, counts, as_json):
    """Prints what was counted."""
    if as_json:
        rows = {w: {"threshold": thresholds[w], **counts[w]} for w in counts}
        print(json.dumps({"hours": found.hours, "words": rows}))
        return
    print(f"{found.hours:.2f} hours without the words")
    print(f"{'word':12} threshold  spoken  missed  false alarms  per hour")
    for word, c in counts.items():
        print(
            f"{word:12} {thresholds[word]:9.6f}  {c['spoken']:6} "
            f"{100 * c['missed']:6.1f} %  {c['alarms']:11}  "
            f"{c['per_hour']:8.2f}"
        )
    spoken = sum(c["spoken"] for c in counts.values())
    missed = 1 - sum(c["hits"] for c in counts.values()) / max(1, spoken)
    alarms = sum(c["alarms"] for c in counts.values())
    print(
        f"all          {'':9}  {spoken:6} {100 * missed:6.1f} %  {alarms:11}  "
        f"{alarms / found.hours / max(1, len(counts)):8.2f} per word"
    )
