"""Recordings to look at and to listen to: noisy, enhanced and clean."""

import base64
import io

import numpy as np
import soundfile

from training.report import charts
from training.report import figures
from training.report.markup import section
from training.report.markup import table
from training.report.markup import tag
from training.report.run import as_dict

KINDS = ("noisy", "enhanced", "clean")
# A window of 32 ms every 10 ms shows both harmonics and syllables.
WINDOW, HOP = 512, 160
RANGE_DB = 80
WIDTH, HEIGHT = 380, 210
LEFT, TOP, RIGHT, BOTTOM = 34, 8, 14, 34
# Levels of the colour map: more only make the files larger.
LEVELS = 64


def examples(run):
    """The section of the folder `examples`."""
    if not run.examples:
        return None
    folder = run.folder / "examples"
    return section(
        "Examples",
        tag(
            "p",
            "The three spectrograms of an example share one scale: dB below "
            "the loudest point of the three.",
        ),
        scale(),
        [_example(folder, example) for example in run.examples],
    )


def _example(folder, example):
    audio, rates, problems = {}, {}, []
    for kind in KINDS:
        try:
            path = folder / str(example[kind])
            audio[kind], rates[kind] = soundfile.read(path, dtype="float32")
        except (KeyError, OSError, soundfile.SoundFileError):
            problems.append(f"The {kind} recording is missing or damaged.")
    pictures = spectrograms(audio)
    cards = []
    for kind in audio:
        content = (folder / str(example[kind])).read_bytes()
        cards.append(
            tag(
                "figure",
                tag("figcaption", kind),
                draw(pictures[kind], len(audio[kind]), rates[kind])
                if pictures
                else None,
                tag(
                    "audio",
                    controls=True,
                    preload="metadata",
                    src=data_url("audio/wav", content),
                ),
            )
        )
    if audio and not pictures:
        problems.append(
            "Spectrograms need matplotlib: pip install keras-duspar[plot]."
        )
    ratio = example.get("snr_db")
    snr = f", mixed at {ratio:g} dB" if figures.is_number(ratio) else ""
    return tag(
        "article",
        tag("h3", f"{example.get('id', 'without a name')}{snr}"),
        [tag("p", problem, class_="warning") for problem in problems],
        tag("div", cards, class_="charts"),
        _scores(example),
    )


def _scores(example):
    rows = []
    for name in ("pesq_wb", "stoi", "si_sdr"):
        values = as_dict(example.get(name))
        if values:
            before, after = values.get("noisy"), values.get("enhanced")
            rows.append(
                (
                    figures.METRICS[name],
                    figures.metric(name, before),
                    figures.metric(name, after),
                )
            )
    return table(("", "noisy", "enhanced"), rows) if rows else None


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


def spectrograms(audio):
    """Pictures of recordings on one scale, as PNG.

    Args:
        audio: Dictionary of names to arrays of shape `(samples,)` or
            `(samples, channels)`.

    Returns:
        Dictionary of names to bytes, empty without matplotlib.
    """
    levels = {
        name: spectrogram(a.mean(axis=1) if a.ndim == 2 else a)
        for name, a in audio.items()
    }
    top = max((level.max() for level in levels.values()), default=0)
    pictures = {n: _png((v - top) / RANGE_DB + 1) for n, v in levels.items()}
    return {} if None in pictures.values() else pictures


def _png(brightness):
    """Values from 0 to 1, lowest row last, in colour; `None` if impossible."""
    try:
        import matplotlib  # noqa: PLC0415
        import matplotlib.image  # noqa: PLC0415
    except ImportError:
        return None
    colours = matplotlib.colormaps["magma"].resampled(LEVELS)
    file = io.BytesIO()
    pixels = colours(np.clip(brightness, 0, 1), bytes=True)
    matplotlib.image.imsave(file, pixels, origin="lower", format="png")
    return file.getvalue()


def data_url(kind, content):
    """Bytes as an address that needs no file."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def draw(png, samples, rate):
    """A spectrogram with its axes."""
    seconds = samples / rate
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    bottom = TOP + height
    parts = [
        tag(
            "image",
            href=data_url("image/png", png),
            x=LEFT,
            y=TOP,
            width=width,
            height=height,
            preserveAspectRatio="none",
        )
    ]
    for time in charts.ticks(0, seconds):
        x = LEFT + width * time / seconds
        parts.append(charts.line(x, bottom, x, bottom + 4, "axis"))
        parts.append(charts.text(x, bottom + 16, f"{time:g}"))
    nyquist = rate / 2000
    for khz in charts.ticks(0, nyquist, 4):
        y = bottom - height * khz / nyquist
        parts.append(charts.line(LEFT - 4, y, LEFT, y, "axis"))
        parts.append(charts.text(LEFT - 7, y + 4, f"{khz:g}", "end"))
    parts.append(charts.text(LEFT + width / 2, HEIGHT - 4, "time in s"))
    middle = TOP + height / 2
    parts.append(
        charts.text(
            10,
            middle,
            "kHz",
            transform=f"rotate(-90 10 {middle:g})",
        )
    )
    return tag(
        "svg",
        parts,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=f"Spectrogram, {seconds:.1f} s",
        class_="chart",
    )


def scale():
    """The colours of the spectrograms and their levels."""
    png = _png(np.linspace(0, 1, LEVELS)[None, :])
    if png is None:
        return None
    ends = (f"\N{MINUS SIGN}{RANGE_DB} dB", "0 dB")
    colours = tag("img", src=data_url("image/png", png), alt="dark to bright")
    return tag("p", ends[0], colours, ends[1], class_="levels")
