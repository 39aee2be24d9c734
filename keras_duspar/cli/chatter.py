"""Keeps the standard error for what users can do something about."""

import contextlib
import os
import re
import sys
import tempfile
import threading

# Lines of LiteRT, of TensorFlow and of the drivers of a GPU that is not there,
# when all is well.
_CHATTER = re.compile(
    rb"INFO: |WARNING: All log messages before absl|[IW]\d{4} |E\d{4} .*cuda_"
)
_lock = threading.Lock()


@contextlib.contextmanager
def without_chatter():
    """Leaves out lines in which libraries say that they have begun.

    They write them to the file descriptor, so that is where they are caught.
    All other lines are written at the end.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(_lock)
        try:
            sys.stderr.flush()
            stderr = os.dup(2)
        except (AttributeError, OSError, ValueError):  # there is none
            yield
            return
        stack.callback(os.close, stderr)
        caught = stack.enter_context(tempfile.TemporaryFile())
        os.dup2(caught.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(stderr, 2)
            caught.seek(0)
            for line in caught:
                if not _CHATTER.match(line):
                    os.write(stderr, line)


def start_keras():
    """Imports Keras and starts its backend, without what backends say."""
    with without_chatter():
        import keras  # noqa: PLC0415

        keras.ops.zeros(())
