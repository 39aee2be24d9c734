"""Progress bars."""

import contextlib

import rich.progress


@contextlib.contextmanager
def bar(description, total, enabled=True, size=False):
    """Shows a bar while the block runs.

    Args:
        description: String, shown at its left.
        total: Number of steps, or `None` if it is not known.
        enabled: Boolean, whether to show anything. Default: `True`.
        size: Boolean, whether steps are bytes. Default: `False`.

    Yields:
        A function that moves the bar on, by one or by its argument.
    """
    count = (
        [
            rich.progress.DownloadColumn(),
            rich.progress.TransferSpeedColumn(),
        ]
        if size
        else [rich.progress.MofNCompleteColumn()]
    )
    with rich.progress.Progress(
        rich.progress.TextColumn("{task.description}"),
        rich.progress.BarColumn(),
        *count,
        rich.progress.TimeRemainingColumn(),
        disable=not enabled,
    ) as display:
        task = display.add_task(description, total=total)

        def advance(steps=1):
            display.advance(task, steps)

        yield advance
