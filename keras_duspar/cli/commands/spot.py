"""Names the word spoken in a recording.

For long recordings, --every gives an answer for each window of one second.
"""

import json

import numpy as np

from keras_duspar.cli import trained
from keras_duspar.cli.argument_types import add_window
from keras_duspar.cli.argument_types import positive
from keras_duspar.cli.argument_types import probability
from keras_duspar.cli.recordings import for_each
from keras_duspar.cli.recordings import listening
from keras_duspar.cli.recordings import too_short


def add_arguments(parser):
    """Adds the arguments of the command."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="recordings; - reads stdin"
    )
    trained.add_arguments(parser, "kws")
    parser.add_argument(
        "--top",
        type=positive(int),
        default=1,
        metavar="N",
        help="how many words to print, the most likely first (default: 1)",
    )
    parser.add_argument(
        "--every",
        type=positive(float),
        metavar="SECONDS",
        help="give an answer every so many seconds of the recording",
    )
    add_window(
        parser, "how much each answer of --every listens to (default: 1)", 1.0
    )
    parser.add_argument(
        "--threshold",
        type=probability,
        default=0.0,
        metavar="P",
        help="leave out answers with a probability below P (default: 0)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object per line"
    )


def run(arguments):
    """Runs the command."""
    model = trained.load(arguments.model, "kws", arguments.labels)

    def hear(path):
        with listening(path, model.sample_rate) as (_, blocks):
            if arguments.every is None:
                answers = [({}, last_output(model, blocks))]
            else:
                answers = heard_in_windows(model, blocks, arguments)
            for times, logits in answers:
                if logits is None:
                    raise too_short(path)
                report(path, times, best(model, logits[0], arguments))

    return for_each(arguments.files, hear, "spot")


def last_output(model, blocks):
    """The logits of all blocks together, `None` if they are too short."""
    logits = None
    for logits in model.run(blocks):  # noqa: B007
        pass
    return logits


def heard_in_windows(model, blocks, arguments):
    """Yields the times and the logits of every window.

    The last window ends where the recording does, so that all is heard.
    """
    rate = model.sample_rate
    size = max(1, round(arguments.window * rate))
    hop = max(1, round(arguments.every * rate))
    start, end, heard = 0, 0, 0
    kept = np.zeros((1, 0), "float32")  # the samples from `start` to `end`

    def hear(window, first):
        times = {"start": first / rate, "end": (first + window.shape[1]) / rate}
        return times, last_output(model, [window])

    for block in blocks:
        kept = np.concatenate([kept, block], axis=1)
        end += block.shape[1]
        while end >= heard + size:
            first = heard - start
            yield hear(kept[:, first : first + size], heard)
            heard += hop
        # What comes may need the samples of the last window.
        drop = max(0, end - size - start)
        drop = min(drop, max(0, heard - start))
        kept, start = kept[:, drop:], start + drop
    covered = heard - hop + size if heard else 0
    if end > covered:
        window = kept[:, -size:]
        yield hear(window, end - window.shape[1])


def best(model, logits, arguments):
    """The best words and their probabilities."""
    logits = np.asarray(logits, "float64")
    scores = np.exp(logits - logits.max())
    scores /= scores.sum()
    order = np.argsort(-scores)[: arguments.top]
    words = [
        {"word": model.labels[i], "score": round(float(scores[i]), 4)}
        for i in order
        if scores[i] >= arguments.threshold
    ]
    return words, arguments.json


def report(path, times, found):
    """Prints an answer."""
    words, as_json = found
    if not words:
        return
    if as_json:
        print(json.dumps({"file": str(path), **times, "words": words}))
        return
    when = ""
    if times:
        when = f"  {times['start']:8.2f} s - {times['end']:8.2f} s"
    named = "  ".join(f"{w['word']} {w['score']:.3f}" for w in words)
    print(f"{path}{when}  {named}", flush=True)
