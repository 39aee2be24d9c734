"""Recordings to look at and to listen to: noisy, enhanced and clean."""

import base64

import matplotlib
import numpy as np
import soundfile

from pages import formats
from pages import plots
from pages.run_files import as_dict
from tasks import METRICS
from tasks import TASKS

KINDS = ("noisy", "enhanced", "clean")
# A window of 32 ms every 10 ms shows both harmonics and syllables.
WINDOW, HOP = 512, 160
RANGE_DB = 80
WIDTH, HEIGHT = 380, 210
# Levels of the color map: more only make the files larger.
LEVELS = 64


def examples(run):
    """What the page shows of the folder `examples`.

    Args:
        run: A `run_files.Run`.

    Returns:
        A list of dictionaries: `title`, `problems`, `recordings`, each with a
        `chart` and the address of its `audio`, and rows of `scores`.
    """
    return [_example(run.folder / "examples", e) for e in run.examples]


def _example(folder, example):
    audio, rates, problems = {}, {}, []
    for kind in KINDS:
        try:
            path = folder / str(example[kind])
            audio[kind], rates[kind] = soundfile.read(path, dtype="float32")
        except (KeyError, OSError, soundfile.SoundFileError):
            problems.append(f"The {kind} recording is missing or damaged.")
    levels = shared_levels(audio)
    recordings = []
    for kind in audio:
        chart = draw(kind, levels[kind], len(audio[kind]), rates[kind])
        wav = base64.b64encode((folder / str(example[kind])).read_bytes())
        url = f"data:audio/wav;base64,{wav.decode()}"
        recordings.append({"chart": chart, "audio": url})
    ratio = example.get("snr_db")
    snr = f", mixed at {ratio:g} dB" if formats.is_number(ratio) else ""
    scores = []
    for name in TASKS["se"].metrics:
        values = as_dict(example.get(name))
        if values:
            sides = (values.get(side) for side in KINDS[:2])
            texts = [formats.metric(name, value) for value in sides]
            scores.append([METRICS[name].title, *texts])
    return {
        "title": f"{example.get('id', 'without a name')}{snr}",
        "problems": problems,
        "recordings": recordings,
        "scores": scores,
    }


def spectrogram(audio):
    """Level of each frequency and time in dB.

    Args:
        audio: Array of shape `(samples,)`.

    Returns:
        Array of shape `(WINDOW // 2 + 1, frames)`, lowest frequency first.
    """
    audio = np.pad(audio, (WINDOW // 2, WINDOW // 2))
    frames = np.lib.stride_tricks.sliding_window_view(audio, WINDOW)[::HOP]
    spectrum = np.fft.rfft(frames * np.hanning(WINDOW), axis=-1)
    return 20 * np.log10(np.abs(spectrum).T + 1e-9)


def shared_levels(audio):
    """Spectrograms of recordings, in dB below the loudest point of all.

    Args:
        audio: Dictionary of names to arrays of shape `(samples,)` or
            `(samples, channels)`.

    Returns:
        Dictionary of names to arrays.
    """
    levels = {
        name: spectrogram(a.mean(axis=1) if a.ndim == 2 else a)
        for name, a in audio.items()
    }
    top = max((level.max() for level in levels.values()), default=0)
    return {name: level - top for name, level in levels.items()}


def draw(title, levels, samples, rate):
    """The `Chart` of a spectrogram."""
    seconds = samples / rate
    with plots.drawing(WIDTH, HEIGHT) as figure:
        axes = figure.subplots()
        axes.imshow(
            levels,
            cmap=_colors(),
            vmin=-RANGE_DB,
            vmax=0,
            origin="lower",
            aspect="auto",
            extent=(0, seconds, 0, rate / 2000),
        )
        plots.set_ticks(axes, rows=4)
        axes.set(xlabel="time in s", ylabel="kHz")
        label = f"Spectrogram, {seconds:.1f} s"
        return plots.Chart(title, plots.svg(figure, label))


def _colors():
    return matplotlib.colormaps["magma"].resampled(LEVELS)


def gradient():
    """The colors of the spectrograms as a CSS background."""
    stops = [
        matplotlib.colors.to_hex(c) for c in _colors()(np.linspace(0, 1, 9))
    ]
    return f"linear-gradient(to right, {', '.join(stops)})"
