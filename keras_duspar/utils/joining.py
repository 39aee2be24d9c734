"""What comes out of a stream, put together."""

import numpy as np


class Join:
    """Puts together what the steps of a stream return for one output.

    Args:
        kind: String, the kind of `keras_duspar.streaming.Signal`.
        delay: Integer, samples at the beginning that are left out.
        cut: Boolean, whether the output is as long as the input.
    """

    def __init__(self, kind, delay=0, cut=False):
        self._kind, self._late, self._cut = kind, delay, cut
        self._given = 0
        self._latest = None

    def __call__(self, parts, empty, length=None):
        """Adds steps.

        Args:
            parts: List of arrays, one per step.
            empty: Array of no time steps.
            length: Integer, the length of the input at its end. Default:
                `None`, before the end.

        Returns:
            What is new; of a summary its latest value, `None` without any.
        """
        if self._kind == "summary":
            self._latest = parts[-1] if parts else self._latest
            return self._latest
        output = np.concatenate([empty, *parts], axis=1)
        late = min(self._late, output.shape[1])
        self._late -= late
        output = output[:, late:]
        if self._cut and length is not None:
            output = output[:, : length - self._given]
        self._given += output.shape[1]
        return output
