"""Progress bars."""

import contextlib

import rich.progress


@contextlib.contextmanager
def bar(description, total, enabled=True, size=False, console=None):
    """Shows a bar while the block runs, with the time spent and left.

    Args:
        description: String, shown at its left.
        total: Number of steps, or `None` if it is not known.
        enabled: Boolean, whether to show anything. Default: `True`.
        size: Boolean, whether steps are bytes. Default: `False`.
        console: A `rich.console.Console`. Default: `None`, that of rich.

    Yields:
        A function that moves the bar on, by one or by its argument; `name`
        changes the description.
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
        rich.progress.TimeElapsedColumn(),
        rich.progress.TextColumn("left"),
        rich.progress.TimeRemainingColumn(),
        console=console,
        disable=not enabled,
    ) as display:
        task = display.add_task(description, total=total)

        def advance(steps=1, name=None):
            display.update(task, advance=steps, description=name)

        yield advance
