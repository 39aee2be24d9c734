"""The three metrics of speech enhancement over a test set."""

import collections
import concurrent.futures
import multiprocessing
import os

import keras
import numpy as np

from keras_duspar.metrics.pesq import pesq_wb
from keras_duspar.metrics.si_sdr import si_sdr
from keras_duspar.metrics.stoi import stoi
from keras_duspar.utils import checks
from keras_duspar.utils.audio_files import SAMPLE_RATE
from keras_duspar.utils.optional import optional_package

METRICS = ("pesq_wb", "stoi", "si_sdr")


def evaluate_enhancement(
    pairs, sample_rate=SAMPLE_RATE, workers=None, verbose=0
):
    """PESQ-WB, STOI and SI-SDR over a test set, in parallel processes.

    An utterance on which a metric has no value, as PESQ has none where it
    finds no speech, is named and counted; that metric's mean is over the
    rest.

    The processes are spawned, which is safe beside the threads of any
    backend. A script that calls this must therefore guard its start by
    `if __name__ == "__main__":`.

    Args:
        pairs: Iterable of `(reference, estimate)` or `(name, reference,
            estimate)`, where both signals are arrays of shape `(samples,)`.
            An utterance without a name is named by its position. A generator
            is read as the work proceeds.
        sample_rate: Must be 16000, which is the default.
        workers: Positive integer, number of processes; 1 stays in this
            process. Default: `None`, the number of processors.
        verbose: Integer, 1 for a progress bar. Default: 0.

    Returns:
        A dictionary, ready for JSON, with the means `"pesq_wb"`, `"stoi"` and
        `"si_sdr"` (`None` if no utterance has a value), `"count"`, the number
        of utterances, `"failed"`, for every metric a dictionary of names to
        reasons, and `"utterances"`, a list of dictionaries with `"name"` and
        the three values, `None` where it failed.

    Example:

    >>> clean = np.random.default_rng(0).normal(size=16000)
    >>> noisy = clean + np.random.default_rng(1).normal(size=16000)
    >>> result = keras_duspar.metrics.evaluate_enhancement(
    ...     [("one", clean, noisy), ("silent", 0 * clean, noisy)], workers=1)
    >>> result["count"], list(result["failed"]["pesq_wb"])
    (2, ['silent'])
    """
    # Known at once, not after the first utterances.
    optional_package("pesq")
    optional_package("pystoi")
    checks.choice("sample_rate", sample_rate, (SAMPLE_RATE,))
    if workers is None:
        workers = os.cpu_count() or 1
    workers = checks.positive_integer("workers", workers)
    total = len(pairs) if hasattr(pairs, "__len__") else None
    progress = keras.utils.Progbar(
        total, verbose=verbose, unit_name="utterance"
    )
    rows = []
    for row in _score_all(_named(pairs), sample_rate, workers):
        rows.append(row)
        progress.update(len(rows))
    if total is None:
        progress.update(len(rows), finalize=True)
    return _summary(rows)


def _named(pairs):
    """Yields `(name, reference, estimate)`, checked."""
    for position, pair in enumerate(pairs):
        if len(pair) not in (2, 3):
            raise checks.bad_value(
                "pairs",
                "of `(reference, estimate)` or `(name, reference, estimate)`",
                pair,
            )
        name = pair[0] if len(pair) == 3 else position
        reference, estimate = (np.asarray(signal) for signal in pair[-2:])
        # Unlike bad audio this is a mistake of the caller.
        if reference.ndim != 1 or reference.shape != estimate.shape:
            raise ValueError(
                "`pairs` must hold signals of equal shape `(samples,)`. "
                f"Received shapes {reference.shape} and {estimate.shape} for "
                f"utterance {name!r}."
            )
        yield str(name), reference, estimate


def _score_all(utterances, sample_rate, workers):
    """Yields the scores of all utterances, in their order."""
    if workers == 1:
        for utterance in utterances:
            yield _score(*utterance, sample_rate)
        return
    with concurrent.futures.ProcessPoolExecutor(
        workers, mp_context=multiprocessing.get_context("spawn")
    ) as pool:
        # Few at a time: a test set need not fit into memory.
        waiting = collections.deque()
        try:
            for utterance in utterances:
                waiting.append(pool.submit(_score, *utterance, sample_rate))
                if len(waiting) > 4 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _score(name, reference, estimate, sample_rate):
    """Scores of one utterance: values, and reasons where there is none."""
    values, reasons = {}, {}
    for metric, compute in (
        ("pesq_wb", lambda: pesq_wb(reference, estimate, sample_rate)),
        ("stoi", lambda: stoi(reference, estimate, sample_rate)),
        ("si_sdr", lambda: si_sdr(reference, estimate)),
    ):
        values[metric] = None
        try:
            value = compute()
        except ValueError as error:
            reasons[metric] = str(error)
            continue
        if np.isfinite(value):
            values[metric] = value
        else:
            reasons[metric] = f"the value is {value}"
    return name, values, reasons


def _summary(rows):
    result = {}
    for metric in METRICS:
        found = [values[metric] for _, values, _ in rows]
        found = [value for value in found if value is not None]
        result[metric] = float(np.mean(found)) if found else None
    result["count"] = len(rows)
    result["failed"] = {
        metric: {
            name: reasons[metric]
            for name, _, reasons in rows
            if metric in reasons
        }
        for metric in METRICS
    }
    result["utterances"] = [
        {"name": name, **values} for name, values, _ in rows
    ]
    return result
